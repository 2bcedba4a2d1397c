import type { PolicyName } from '../../contract/decision.ts'
import type { Override } from '../core/policy.ts'
import { closest } from './closest.ts'
import { enumerate, type Fault, keyFault, type Path, valueFault } from './fault.ts'
import { isMapping, readFields } from './fields.ts'
import { judgeRule, type ReadPolicy } from './policy.ts'
import { overrideFields, overrideValues, type Refill } from './schema.ts'

/** The override is there when nothing is wrong with it. */
export type ReadOverride = {
  readonly path: Path
  readonly faults: readonly Fault[]
  readonly override: (Override & { readonly of: PolicyName }) | undefined
}

type Policies = ReadonlyMap<string, ReadPolicy>
type Counting = Extract<ReadPolicy, { kind: 'counting' }>
type Mapping = Readonly<Record<string, unknown>>

export const readOverride = (value: unknown, path: Path, policies: Policies): ReadOverride => {
  if (!isMapping(value)) return { path, faults: [valueFault(path, NOT_A_MAPPING)], override: undefined }
  const [own, attributes] = partition(value, overrideFields.names)
  const read = readFields(overrideFields, own, { path, explainUnknown: () => 'is unknown: remove it' })
  const named = read.fields.policy === undefined ? undefined : policies.get(read.fields.policy)
  const policy = named?.kind === 'counting' ? named : undefined
  const [bucket, foreign] = policy?.by === undefined ? [attributes, {}] : partition(attributes, policy.by)
  const values = overrideValues.safeParse(bucket, { reportInput: true })
  const { rule, faults: numberFaults } = judgeNumbers(own, read.fields, policy, path)
  const faults = [
    ...read.faults,
    ...(read.fields.policy === undefined ? [] : policyFaults(read.fields.policy, [...path, 'policy'], policies)),
    ...(values.error?.issues ?? []).map((issue) => valueFault([...path, ...issue.path], issue.message)),
    ...Object.keys(foreign).map((name) => keyFault([...path, name], foreignAttribute(name, policy?.by ?? []))),
    ...numberFaults,
    // A misspelt field may be what is missing.
    ...(Object.keys(foreign).length > 0 ? [] : omissions(own, bucket, policy?.by, path)),
  ]
  if (faults.length > 0 || policy?.name === undefined || rule === undefined || !values.success)
    return { path, faults, override: undefined }
  return { path, faults, override: { of: policy.name, values: new Map(Object.entries(values.data)), rule } }
}

const NOT_A_MAPPING =
  'must be a mapping: write a policy, the values of the attributes that it counts by, and a capacity, a refill or both'

const partition = (mapping: Mapping, names: readonly string[]): readonly [Mapping, Mapping] => {
  const { within = [], outside = [] } = Object.groupBy(Object.entries(mapping), ([name]) =>
    names.includes(name) ? 'within' : 'outside',
  )
  return [Object.fromEntries(within), Object.fromEntries(outside)]
}

const policyFaults = (name: string, path: Path, policies: Policies): readonly Fault[] => {
  const policy = policies.get(name)
  if (policy?.kind === 'counting') return []
  if (policy?.kind === 'exempt')
    return [valueFault(path, 'is an exempt policy, which has no numbers: remove the override')]
  return [valueFault(path, notAPolicy(name, [...policies.keys()]))]
}

/** What to tell of a name that no policy has. */
export const notAPolicy = (name: string, names: readonly string[]) => {
  const meant = closest(name, names)
  const remedy =
    meant === undefined ? `it has ${names.length === 0 ? 'none' : enumerate(names)}` : `did you mean ${meant}?`
  return `is not a policy of this domain: ${remedy}`
}

const foreignAttribute = (name: string, by: readonly string[]) => {
  const meant = closest(name, [...by, ...overrideFields.names])
  const remedy = meant === undefined ? 'remove it, or count by it too' : `did you mean ${meant}?`
  return `is not what the policy counts by (${by.length === 0 ? 'nothing' : enumerate(by)}): ${remedy}`
}

const omissions = (own: Mapping, bucket: Mapping, by: readonly string[] | undefined, path: Path): readonly Fault[] => [
  ...(Object.hasOwn(own, 'capacity') || Object.hasOwn(own, 'refill')
    ? []
    : [valueFault(path, 'changes nothing: give it a capacity, a refill or both')]),
  ...(by === undefined || Object.keys(bucket).length > 0 ? [] : [valueFault(path, namesNoBucket(by))]),
]

const namesNoBucket = (by: readonly string[]) =>
  by.length === 0
    ? 'is of a policy with one bucket only: change the numbers of the policy itself'
    : `names no bucket: give a value of ${enumerate(by)}`

type Numbers = { readonly capacity?: number | undefined; readonly refill?: Refill | undefined }

/** The number that the override leaves out is the policy's. */
const judgeNumbers = (own: Mapping, { capacity, refill }: Numbers, policy: Counting | undefined, path: Path) => {
  const has = { capacity: Object.hasOwn(own, 'capacity'), refill: Object.hasOwn(own, 'refill') }
  const { rule, problems } = judgeRule(
    has.capacity ? capacity : policy?.rule?.capacityTokens,
    has.refill ? refill : policy?.rule,
  )
  const faults = problems.map(({ field, problem }) =>
    has[field]
      ? valueFault([...path, field], problem)
      : valueFault([...path, 'capacity'], `does not go with the policy's ${field}, which ${problem}`),
  )
  return { rule, faults }
}
