import type { DomainName } from '../../contract/check.ts'
import type { Policy, PolicySet } from '../core/policy.ts'
import { type Fault, formatPath, type Path, quote, valueFault } from './fault.ts'
import { readFields, unknownField } from './fields.ts'
import { notAPolicy, type ReadOverride, readOverride } from './override.ts'
import { type ReadPolicy, readPolicy } from './policy.ts'
import { documentFields } from './schema.ts'

export type ReadSet = {
  /** As far as it could be read. */
  readonly domain: DomainName | undefined
  readonly faults: readonly Fault[]
  /** There when nothing is wrong. */
  readonly set: PolicySet | undefined
}

/** Reads one document: the policies of one domain. */
export const readSet = (value: unknown): ReadSet => {
  const explainUnknown = (name: string) => unknownField(name, 'a domain', documentFields.names)
  const read = readFields(documentFields, value, { path: [], explainUnknown })
  const { domain, subject } = read.fields
  const policies = (read.fields.policies ?? []).map((item, index) => readPolicy(item, ['policies', index], subject))
  const firstOfName = new Map<string, ReadPolicy>()
  for (const policy of policies)
    if (policy.name !== undefined && !firstOfName.has(policy.name)) firstOfName.set(policy.name, policy)
  const overrides = (read.fields.overrides ?? []).map((item, index) =>
    readOverride(item, ['overrides', index], firstOfName),
  )
  const faults = [
    ...read.faults,
    ...policies.flatMap((policy) => [
      ...policy.faults,
      ...repeatedName(policy, firstOfName),
      ...replacedFaults(policy, firstOfName),
    ]),
    ...overrides.flatMap((override) => override.faults),
    ...repeatedOverrides(overrides),
  ]
  if (!read.ok || faults.length > 0) return { domain, faults, set: undefined }
  const set = {
    domain: read.fields.domain,
    subject: read.fields.subject,
    policies: policies.flatMap(({ policy }) => (policy === undefined ? [] : [withOverrides(policy, overrides)])),
  }
  return { domain, faults, set }
}

const repeatedName = ({ name, path }: ReadPolicy, firstOfName: ReadonlyMap<string, ReadPolicy>): readonly Fault[] => {
  const first = name === undefined ? undefined : firstOfName.get(name)
  if (name === undefined || first === undefined || first.path === path) return []
  return [
    valueFault(
      [...path, 'name'],
      `is ${quote(name)}, as is ${formatPath(first.path)}: give each policy a name of its own`,
    ),
  ]
}

const replacedFaults = ({ policy, path }: ReadPolicy, policies: ReadonlyMap<string, ReadPolicy>): readonly Fault[] =>
  (policy?.replaces ?? []).flatMap((name, index) => {
    const at = [...path, 'replaces', index]
    if (name === policy?.name) return [valueFault(at, 'is the policy itself: name the one that gives way to it')]
    return policies.has(name) ? [] : [valueFault(at, notAPolicy(name, [...policies.keys()]))]
  })

const repeatedOverrides = (overrides: readonly ReadOverride[]): readonly Fault[] => {
  const firstOfBucket = new Map<string, Path>()
  return overrides.flatMap(({ path, override }) => {
    if (override === undefined) return []
    const bucket = JSON.stringify([override.of, ...[...override.values].sort()])
    const first = firstOfBucket.get(bucket)
    if (first !== undefined) return [valueFault(path, `is for the same bucket as ${formatPath(first)}: remove one`)]
    firstOfBucket.set(bucket, path)
    return []
  })
}

/** Most specific first; of those equally specific, the first in the file. */
const withOverrides = (policy: Policy, overrides: readonly ReadOverride[]): Policy => {
  if (policy.kind === 'exempt') return policy
  const own = overrides
    .flatMap(({ override }) => (override?.of === policy.name ? [{ values: override.values, rule: override.rule }] : []))
    .sort((a, b) => b.values.size - a.values.size)
  return { ...policy, overrides: own }
}
