import { makeRule, type Rule, type RuleProblem } from '../../bucket/rule.ts'
import type { PolicyName } from '../../contract/decision.ts'
import type { Condition, CountingPolicy, ExemptPolicy } from '../core/policy.ts'
import { type Fault, formatPath, type Path, valueFault } from './fault.ts'
import { isMapping, readFields, unknownField } from './fields.ts'
import { blockFields, countingFields, exemptFields, type Refill } from './schema.ts'

/** A policy, or what could be read of it: other parts of the document refer to that. */
export type ReadPolicy = {
  readonly path: Path
  readonly name: PolicyName | undefined
  readonly faults: readonly Fault[]
} & (
  | { readonly kind: 'exempt'; readonly policy: ExemptPolicy | undefined }
  | {
      readonly kind: 'counting'
      readonly by: readonly string[] | undefined
      readonly rule: Rule | undefined
      readonly policy: CountingPolicy | undefined
    }
)

export const readPolicy = (value: unknown, path: Path, subject: string | undefined): ReadPolicy => {
  if (isMapping(value) && (value['exempt'] ?? false) !== false) return readExemptPolicy(value, path)
  if (isMapping(value) && (value['block'] ?? false) !== false) return readBlockingPolicy(value, path)
  return readCountingPolicy(value, path, subject)
}

const meansNothing = (name: string, kind: string, field: 'exempt' | 'block', known: readonly string[]) =>
  countingFields.names.includes(name)
    ? `means nothing in ${kind} policy, which counts nothing: remove it, or remove ${field}`
    : unknownField(name, `${kind} policy`, known)

const readExemptPolicy = (value: Readonly<Record<string, unknown>>, path: Path): ReadPolicy => {
  const explainUnknown = (name: string) => meansNothing(name, 'an exempt', 'exempt', exemptFields.names)
  const read = readFields(exemptFields, value, { path, explainUnknown })
  const known = { kind: 'exempt', path, name: read.fields.name } as const
  if (!read.ok) return { ...known, faults: read.faults, policy: undefined }
  if (read.fields.match !== undefined)
    return { ...known, faults: [], policy: { kind: 'exempt', ...headOf(read.fields) } }
  const problem = 'is missing, which exempts every request: say which are meant, or write match: {} for all'
  return { ...known, faults: [valueFault([...path, 'match'], problem)], policy: undefined }
}

/** One bucket that never holds anything, and so refuses without asking the store. */
const NOTHING: Rule = { capacityTokens: 0, refillTokens: 1, periodS: 1 }

const readBlockingPolicy = (value: Readonly<Record<string, unknown>>, path: Path): ReadPolicy => {
  const explainUnknown = (name: string) => meansNothing(name, 'a blocking', 'block', blockFields.names)
  const read = readFields(blockFields, value, { path, explainUnknown })
  const known = { kind: 'counting', path, name: read.fields.name, by: [], rule: NOTHING } as const
  if (!read.ok) return { ...known, faults: read.faults, policy: undefined }
  if (read.fields.match === undefined) {
    const problem = 'is missing, which refuses every request: say which are meant, or write match: {} for all'
    return { ...known, faults: [valueFault([...path, 'match'], problem)], policy: undefined }
  }
  const policy: CountingPolicy = {
    kind: 'counting',
    ...headOf(read.fields),
    by: [],
    rule: NOTHING,
    overrides: [],
    mode: 'enforce',
    onStoreFailure: 'deny',
  }
  return { ...known, faults: [], policy }
}

type Head = {
  readonly name: PolicyName
  readonly match?: readonly Condition[] | undefined
  readonly unless?: readonly Condition[] | undefined
  readonly replaces?: readonly PolicyName[] | undefined
}

const headOf = ({ name, match, unless, replaces }: Head) => ({
  name,
  conditions: match ?? [],
  ...(unless !== undefined && { unless }),
  ...(replaces !== undefined && { replaces }),
})

const readCountingPolicy = (value: unknown, path: Path, subject: string | undefined): ReadPolicy => {
  const explainUnknown = (name: string) => unknownField(name, 'a policy', countingFields.names)
  const read = readFields(countingFields, value, { path, explainUnknown })
  const { name, by: written, capacity, refill } = read.fields
  const mapping = isMapping(value) ? value : {}
  const by = Object.hasOwn(mapping, 'by') ? written : subject === undefined ? undefined : [subject]
  const judged = judgeRule(capacity, refill)
  const faults = [
    ...read.faults,
    ...repeats(mapping['by'], [...path, 'by']),
    ...judged.problems.map(({ field, problem }) => valueFault([...path, field], problem)),
  ]
  const { rule } = judged
  const known = { kind: 'counting', path, name, by, rule, faults } as const
  if (!read.ok || by === undefined || rule === undefined || faults.length > 0) return { ...known, policy: undefined }
  const policy: CountingPolicy = {
    kind: 'counting',
    ...headOf(read.fields),
    by,
    rule,
    overrides: [],
    mode: read.fields.mode ?? 'enforce',
    onStoreFailure: read.fields.onStoreFailure ?? 'share',
  }
  return { ...known, policy }
}

const repeats = (by: unknown, path: Path): readonly Fault[] => {
  const firstOf = new Map<unknown, number>()
  return (Array.isArray(by) ? by : []).flatMap((name: unknown, index) => {
    const first = firstOf.get(name)
    if (first !== undefined)
      return [valueFault([...path, index], `is the same as ${formatPath([...path, first])}: remove one`)]
    if (typeof name === 'string') firstOf.set(name, index)
    return []
  })
}

export type JudgedRule = { readonly rule: Rule | undefined; readonly problems: readonly RuleProblem[] }

/** Makes a rule; when one of its numbers is unreadable, says what is wrong with the other all the same. */
export const judgeRule = (capacity: number | undefined, refill: Refill | undefined): JudgedRule => {
  const made = makeRule(capacity ?? 1, refill?.refillTokens ?? 1, refill?.periodS ?? 1)
  if (made.ok) return { rule: capacity === undefined || refill === undefined ? undefined : made.rule, problems: [] }
  const isKnown = { capacity: capacity !== undefined, refill: refill !== undefined }
  return { rule: undefined, problems: made.problems.filter(({ field }) => isKnown[field]) }
}
