// npm run check-policies -- FILE: what the limiter would say of a policy file or folder, without a limiter.
import type { Rule } from '../bucket/rule.ts'
import type { Condition, Policy, PolicySets } from './core/policy.ts'
import { parsePolicies } from './policies/parse.ts'
import { formatProblem, type PolicyProblem } from './policies/problem.ts'
import { readPolicyFiles } from './policies/read.ts'

const USAGE = `Usage: npm run check-policies -- FILE
FILE is a policy file (YAML or JSON), or a folder of them.
`

const check = async (path: string) => {
  const read = await readPolicyFiles(path)
  const parsed = read.ok ? parsePolicies(read.files) : read
  if (parsed.ok) return { exitCode: 0, output: summarize(path, parsed.sets) }
  return { exitCode: 1, output: listProblems(parsed.problems) }
}

const listProblems = (problems: readonly PolicyProblem[]) =>
  `${problems.map((problem) => `${formatProblem(problem)}\n`).join('')}
${problems.length === 1 ? '1 problem' : `${problems.length} problems`}: a limiter would refuse these policies.
`

const summarize = (path: string, sets: PolicySets) => {
  const rows = [...sets.values()].flatMap(({ domain, policies }) => policies.map((policy) => row(domain, policy)))
  const domains = sets.size === 1 ? '1 domain' : `${sets.size} domains`
  const policies = rows.length === 1 ? '1 policy' : `${rows.length} policies`
  return `${path}: ${domains}, ${policies}, no problem\n\n${table([HEADINGS, ...rows])}`
}

const HEADINGS = [
  'domain',
  'policy',
  'matches',
  'counts by',
  'capacity',
  'refill',
  'without store',
  'mode',
  'overrides',
]

const row = (domain: string, policy: Policy): readonly string[] => {
  const head = [domain, policy.name, describeMatch(policy)]
  if (policy.kind === 'exempt') return [...head, 'exempt']
  if (policy.rule.capacityTokens === 0) return [...head, 'blocked']
  const { by, rule, onStoreFailure, mode, overrides } = policy
  const counts = by.join(' ') || 'one bucket'
  return [...head, counts, `${rule.capacityTokens}`, formatRefill(rule), onStoreFailure, mode, `${overrides.length}`]
}

const describeMatch = ({ conditions, unless = [] }: Policy) => {
  const matched = conditions.map(formatCondition).join(' ') || 'all'
  return unless.length === 0 ? matched : `${matched} unless ${unless.map(formatCondition).join(' or ')}`
}

const formatCondition = ({ attribute, anyOf }: Condition) =>
  `${attribute}=${anyOf.map(({ kind, value }) => (kind === 'prefix' ? `${value}*` : value)).join('|')}`

const formatRefill = ({ refillTokens, periodS }: Rule) =>
  periodS === 1 ? `${refillTokens}/s` : `${refillTokens} per ${periodS}s`

const table = (rows: readonly (readonly string[])[]) => {
  const widths = HEADINGS.map((_, column) => Math.max(...rows.map((cells) => cells[column]?.length ?? 0)))
  const line = (cells: readonly string[]) => cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('  ')
  return rows.map((cells) => `${line(cells).trimEnd()}\n`).join('')
}

const [path, ...rest] = process.argv.slice(2)
if (path === undefined || path.startsWith('-') || rest.length > 0) {
  process.stderr.write(USAGE)
  process.exitCode = 1
} else {
  const { exitCode, output } = await check(path)
  process.stdout.write(output)
  process.exitCode = exitCode
}
