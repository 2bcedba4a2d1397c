import type { PolicyName } from '../../contract/decision.ts'
import type { Override } from '../core/policy.ts'
import { closest } from './closest.ts'
import { type Fault, keyFault, type Path, valueFault } from './fault.ts'
import { faultsOf, isMapping, readFields } from './fields.ts'
import { type JudgedRule, judgeRule, type ReadPolicy } from './policy.ts'
import { overrideFields, overrideValues, type Refill } from './schema.ts'

/** The override is there when nothing is wrong with it. */
export type ReadOverride = {
  readonly path: Path
  readonly faults: readonly Fault[]
  readonly override: (Override & { readonly of: PolicyName }) | undefined
}

type Policies = ReadonlyMap<string, ReadPolicy>
type Counting = Extract<ReadPolicy, { kind: 'counting' }>

export const readOverride = (value: unknown, path: Path, policies: Policies): ReadOverride => {
  const { own, attributes } = split(value)
  const read = readFields(overrideFields, own, { path, explainUnknown: () => 'is unknown: remove it' })
  const named = read.fields.policy === undefined ? undefined : policies.get(read.fields.policy)
  const target = named?.kind === 'counting' ? named : undefined
  const values = overrideValues.safeParse(attributes, { reportInput: true })
  const { rule, problems } = judgeNumbers(read.fields, target)
  const faults = [
    ...read.faults,
    ...policyFaults(read.fields.policy, [...path, 'policy'], policies),
    ...(isMapping(value) ? emptyFaults(value, path) : []),
    ...(values.error?.issues ?? []).flatMap((issue) => faultsOf(issue, path)),
    ...bucketFaults(Object.keys(attributes), path, target),
    ...problems.map(({ field, problem }) => numberFault(field, problem, own, path)),
  ]
  if (faults.length > 0 || target?.name === undefined || rule === undefined || !values.success)
    return { path, faults, override: undefined }
  return { path, faults, override: { of: target.name, values: new Map(Object.entries(values.data)), rule } }
}

/** An override's own fields, and the attribute values that name its buckets. */
const split = (value: unknown) => {
  if (!isMapping(value)) return { own: value, attributes: {} }
  const isOwn = (name: string) => overrideFields.names.includes(name)
  const entries = Object.entries(value)
  return {
    own: Object.fromEntries(entries.filter(([name]) => isOwn(name))),
    attributes: Object.fromEntries(entries.filter(([name]) => !isOwn(name))),
  }
}

const policyFaults = (name: string | undefined, path: Path, policies: Policies): readonly Fault[] => {
  if (name === undefined) return []
  const policy = policies.get(name)
  if (policy?.kind === 'counting') return []
  if (policy !== undefined)
    return [valueFault(path, 'is an exempt policy, which has no numbers: remove the override')]
  const meant = closest(name, [...policies.keys()])
  const remedy = meant === undefined ? `there are ${list([...policies.keys()])}` : `did you mean ${meant}?`
  return [valueFault(path, `is not a policy of this domain: ${remedy}`)]
}

const emptyFaults = (value: object, path: Path): readonly Fault[] =>
  Object.hasOwn(value, 'capacity') || Object.hasOwn(value, 'refill')
    ? []
    : [valueFault(path, 'changes nothing: give it a capacity, a refill or both')]

const bucketFaults = (attributes: readonly string[], path: Path, target: Counting | undefined): readonly Fault[] => {
  const by = target?.by
  if (by === undefined) return []
  if (by.length === 0)
    return [valueFault(path, 'is of a policy that counts by nothing: change the numbers of the policy itself')]
  if (attributes.length === 0) return [valueFault(path, `names no bucket: give a value of ${list(by)}`)]
  return attributes
    .filter((attribute) => !by.includes(attribute))
    .map((attribute) => {
      const meant = closest(attribute, [...by, ...overrideFields.names])
      const remedy = meant === undefined ? 'remove it, or count by it too' : `did you mean ${meant}?`
      return keyFault([...path, attribute], `is not what the policy counts by (${list(by)}): ${remedy}`)
    })
}

type Numbers = { readonly capacity?: number | undefined; readonly refill?: Refill | undefined }
