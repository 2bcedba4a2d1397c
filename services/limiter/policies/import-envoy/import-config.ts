import { type Fault, formatPath, quote, valueFault } from '../fault.ts'
import { isMapping } from '../fields.ts'
import { parsePolicies } from '../parse.ts'
import type { PolicyFile, PolicyProblem } from '../problem.ts'
import { parseSource, type SourceDocument } from '../source.ts'
import { type ImportedDomain, type ImportedPolicy, policiesOf } from './policies-of.ts'
import { type ReadRules, readRules } from './rule.ts'
import { writeDomain } from './write-domain.ts'

export type ImportedConfig =
  | { readonly ok: true; readonly files: readonly ImportedFile[]; readonly notes: readonly PolicyProblem[] }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

export type ImportedFile = { readonly domain: string; readonly text: string }

type Read = { readonly file: string; readonly document: SourceDocument; readonly domain: string } & ReadRules

type Options = {
  /** All limits in shadow: what they would decide is counted, and nobody is refused. */
  readonly shadow?: boolean
}

/** envoyproxy/ratelimit's configuration as policy files, one for each domain; nothing of it if something cannot be expressed. */
export const importConfig = (configs: readonly PolicyFile[], { shadow = false }: Options = {}): ImportedConfig => {
  const sources = configs.map((config) => ({ file: config.name, ...parseSource(config) }))
  const syntax = sources.flatMap(({ problems }) => problems)
  const read = sources.flatMap(({ file, documents }) =>
    documents.map((document): Read => ({ file, document, ...readConfig(document.value) })),
  )
  const imported = read.map((one) => ({ ...one, result: policiesOf(one.rules) }))
  const problems = [
    ...syntax,
    ...imported.flatMap((one) => locate([...one.faults, ...one.result.faults], one)),
    ...repeatedDomains(read),
  ]
  if (problems.length > 0) return { ok: false, problems: inOrder(problems) }
  const files = imported.map(({ file, document, domain, result }) => ({
    domain,
    text: writeDomain({
      ...(shadow ? inShadow(result) : result),
      domain,
      originOf: ({ path }) => `${file.replace(/.*\//, '')}:${document.placeOf(path, 'value').line}`,
    }),
  }))
  const refused = files.flatMap(({ text }, index) => refusedByLimiter(text, imported[index]))
  if (refused.length > 0) return { ok: false, problems: refused }
  const notes = imported.flatMap((one) => locate([...one.notes, ...one.result.notes], one))
  return { ok: true, files, notes: inOrder(notes) }
}

const inShadow = (domain: ImportedDomain): ImportedDomain => {
  // A limit of 0 cannot be rehearsed: it is known to refuse everybody.
  const blocks = new Set(domain.policies.filter(({ kind }) => kind === 'block').map(({ name }) => name))
  const policies = domain.policies.flatMap(({ kind, ...policy }): readonly ImportedPolicy[] => {
    if (kind === 'block') return []
    const replaces = policy.replaces.filter((name) => !blocks.has(name))
    return [{ ...policy, replaces, kind: kind === 'exempt' ? kind : { ...kind, mode: 'shadow' } }]
  })
  return { ...domain, policies }
}

const inOrder = (problems: readonly PolicyProblem[]) =>
  problems.toSorted((a, b) => a.file.localeCompare(b.file) || a.line - b.line || a.column - b.column)

const readConfig = (value: unknown): ReadRules & { readonly domain: string } => {
  if (!isMapping(value))
    return { ...empty, faults: [valueFault([], 'must be a mapping with a domain and descriptors')] }
  const domain = typeof value['domain'] === 'string' ? value['domain'] : ''
  const { rules, faults, notes } = readRules(value['descriptors'], ['descriptors'])
  const foreign = Object.keys(value).filter((name) => name !== 'domain' && name !== 'descriptors')
  return {
    domain,
    rules,
    notes,
    faults: [
      ...(domain === '' ? [valueFault(['domain'], 'is missing: write the domain that Envoy asks for')] : []),
      ...foreign.map((name) => valueFault([name], 'is no field of envoyproxy/ratelimit here: remove it')),
      ...faults,
    ],
  }
}

const empty = { domain: '', rules: [], faults: [], notes: [] } as const

const locate = (
  faults: readonly Fault[],
  { file, document }: Pick<Read, 'file' | 'document'>,
): readonly PolicyProblem[] =>
  faults.map(({ path, at, problem }) => ({ file, ...document.placeOf(path, at), path: formatPath(path), problem }))

const repeatedDomains = (read: readonly Read[]): readonly PolicyProblem[] => {
  const firstOf = new Map<string, string>()
  return read.flatMap((one) => {
    const first = firstOf.get(one.domain)
    firstOf.set(one.domain, first ?? one.file)
    if (first === undefined || one.domain === '') return []
    const problem = `is ${quote(one.domain)}, as in ${first}: put all descriptors of a domain into one file (as MERGE_DOMAIN_CONFIG does)`
    return locate([valueFault(['domain'], problem)], one)
  })
}

/** What is beyond the limits of a policy file is told where the configuration has it: the line above each policy says where. */
const refusedByLimiter = (text: string, origin: Read | undefined): readonly PolicyProblem[] => {
  const parsed = parsePolicies([{ name: '', text }])
  if (parsed.ok || origin === undefined) return []
  const { policies } = policiesOf(origin.rules)
  return parsed.problems.map(({ path, problem }) => {
    const index = Number(/^policies\[(\d+)\]/.exec(path)?.[1])
    const at = policies[index]?.path ?? (path.startsWith('domain') ? ['domain'] : [])
    const place = origin.document.placeOf(at, 'value')
    return {
      file: origin.file,
      ...place,
      path: formatPath(at),
      problem: `as a policy’s ${path.replace(/^policies\[\d+\]\./, '')}, ${problem}`,
    }
  })
}
