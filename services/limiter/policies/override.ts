import type { PolicyName } from '../../contract/decision.ts'
import type { Override } from '../core/policy.ts'
import { closest } from './closest.ts'
import { enumerate, type Fault, keyFault, type Path, valueFault } from './fault.ts'
import { faultsOf, isMapping, readFields } from './fields.ts'
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
  const [own, attributes] = isMapping(value) ? split(value) : [value, {}]
  const read = readFields(overrideFields, own, { path, explainUnknown: () => 'is unknown: remove it' })
  const values = overrideValues.safeParse(attributes, { reportInput: true })
  const policy = read.fields.policy === undefined ? undefined : policies.get(read.fields.policy)
  const counting = policy?.kind === 'counting' ? policy : undefined
  const numbers = isMapping(own) ? judgeNumbers(own, read.fields, counting, path) : { rule: undefined, faults: [] }
  const faults = [
    ...read.faults,
    ...(read.fields.policy === undefined ? [] : policyFaults(read.fields.policy, [...path, 'policy'], policies)),
    ...(values.error?.issues ?? []).flatMap((issue) => faultsOf(issue, path)),
    ...(counting?.by === undefined ? [] : bucketFaults(Object.keys(attributes), counting.by, path)),
    ...numbers.faults,
  ]
  const { rule } = numbers
  if (faults.length > 0 || counting?.name === undefined || rule === undefined || !values.success)
    return { path, faults, override: undefined }
  return { path, faults, override: { of: counting.name, values: new Map(Object.entries(values.data)), rule } }
}

/** The fields that every override has, and the attributes that name its buckets. */
const split = (value: Mapping): readonly [Mapping, Mapping] => {
  const { own = [], attribute = [] } = Object.groupBy(Object.entries(value), ([name]) =>
    overrideFields.names.includes(name) ? 'own' : 'attribute',
  )
  return [Object.fromEntries(own), Object.fromEntries(attribute)]
}

const policyFaults = (name: string, path: Path, policies: Policies): readonly Fault[] => {
  const policy = policies.get(name)
  if (policy?.kind === 'counting') return []
  if (policy?.kind === 'exempt')
    return [valueFault(path, 'is an exempt policy, which has no numbers: remove the override')]
  const names = [...policies.keys()]
  const meant = closest(name, names)
  const remedy = meant === undefined ? `there are ${enumerate(names)}` : `did you mean ${meant}?`
  return [valueFault(path, `is not a policy of this domain: ${remedy}`)]
}

const bucketFaults = (attributes: readonly string[], by: readonly string[], path: Path): readonly Fault[] => {
  if (by.length === 0)
    return [valueFault(path, 'is of a policy that has one bucket only: change the numbers of the policy itself')]
  if (attributes.length === 0) return [valueFault(path, `names no bucket: give a value of ${enumerate(by)}`)]
  return attributes
    .filter((attribute) => !by.includes(attribute))
    .map((attribute) => {
      const meant = closest(attribute, [...by, ...overrideFields.names])
      const remedy = meant === undefined ? 'remove it, or count by it too' : `did you mean ${meant}?`
      return keyFault([...path, attribute], `is not what the policy counts by (${enumerate(by)}): ${remedy}`)
    })
}

type Numbers = { readonly capacity?: number | undefined; readonly refill?: Refill | undefined }

/** The number that the override leaves out is the policy's. */
const judgeNumbers = (own: Mapping, { capacity, refill }: Numbers, counting: Counting | undefined, path: Path) => {
  const has = { capacity: Object.hasOwn(own, 'capacity'), refill: Object.hasOwn(own, 'refill') }
  if (!has.capacity && !has.refill) {
    const fault = valueFault(path, 'changes nothing: give it a capacity, a refill or both')
    return { rule: undefined, faults: [fault] }
  }
  const { rule, problems } = judgeRule(
    has.capacity ? capacity : counting?.rule?.capacityTokens,
    has.refill ? refill : counting?.rule,
  )
  const faults = problems.map(({ field, problem }) =>
    has[field]
      ? valueFault([...path, field], problem)
      : valueFault([...path, 'capacity'], `does not go with the policy's ${field}, which ${problem}`),
  )
  return { rule, faults }
}
