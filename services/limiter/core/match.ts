import type { Attributes } from '../../contract/check.ts'
import { bucketKey, crossSubjectGroup, subjectGroup } from './key.ts'
import { ruleFor } from './override.ts'
import type { Condition, CountingPolicy, Pattern, Policy, PolicySet } from './policy.ts'
import { type AskedBucket, bucketRef } from './store.ts'

/** A policy that applies to a request, and the bucket that the request is charged to. */
export type Matched = { readonly policy: CountingPolicy; readonly asked: AskedBucket }

export type Match =
  | {
      readonly kind: 'counted'
      /** The subject's buckets first, then those across subjects; each in the order of the file. */
      readonly matched: readonly Matched[]
      /** Policies whose conditions hold, but which count by an attribute that the request lacks. */
      readonly uncountable: readonly CountingPolicy[]
    }
  | { readonly kind: 'exempt' }
  | { readonly kind: 'missing_subject'; readonly subject: string }

export const match = (set: PolicySet, attributes: Attributes): Match => {
  const subject = attributes.get(set.subject)
  if (subject === undefined || subject === '') return { kind: 'missing_subject', subject: set.subject }
  return matchTogether(set, [attributes])[0] ?? { kind: 'missing_subject', subject: set.subject }
}

export type JointMatch = Exclude<Match, { kind: 'missing_subject' }>

/**
 * What applies to each part of one request. A part without the subject is charged only across subjects; what a policy replaces it
 * replaces in all parts.
 */
export const matchTogether = (set: PolicySet, parts: readonly Attributes[]): readonly JointMatch[] => {
  const applying = parts.map((attributes) => set.policies.filter((policy) => applies(policy, attributes)))
  const replaced = new Set(applying.flatMap((policies) => policies.flatMap(({ replaces = [] }) => replaces)))
  return parts.map((attributes, index) => {
    const policies = applying[index] ?? []
    const staying = replaced.size === 0 ? policies : policies.filter(({ name }) => !replaced.has(name))
    return matchPolicies(set, staying, attributes)
  })
}

const matchPolicies = (set: PolicySet, applying: readonly Policy[], attributes: Attributes): JointMatch => {
  if (applying.some((policy) => policy.kind === 'exempt')) return { kind: 'exempt' }

  const ownGroup = subjectGroup(set.domain, attributes.get(set.subject) ?? '')
  const own: Matched[] = []
  const crossSubject: Matched[] = []
  const uncountable: CountingPolicy[] = []
  for (const policy of applying) {
    if (policy.kind === 'exempt') continue
    if (!policy.by.every((attribute) => attributes.has(attribute))) {
      uncountable.push(policy)
      continue
    }
    const isOwn = policy.by.includes(set.subject)
    const values = policy.by.filter((attribute) => attribute !== set.subject).map((name) => attributes.get(name) ?? '')
    const asked = {
      ...bucketRef(
        isOwn ? ownGroup : crossSubjectGroup(set.domain, policy.name, values),
        bucketKey(policy.name, values),
      ),
      rule: ruleFor(policy, attributes),
      enforced: policy.mode === 'enforce',
    }
    ;(isOwn ? own : crossSubject).push({ policy, asked })
  }
  return { kind: 'counted', matched: [...own, ...crossSubject], uncountable }
}

const applies = ({ conditions, unless = [] }: Policy, attributes: Attributes) =>
  conditions.every((condition) => satisfies(condition, attributes)) &&
  !unless.some((condition) => satisfies(condition, attributes))

const satisfies = ({ attribute, anyOf }: Condition, attributes: Attributes) => {
  const value = attributes.get(attribute)
  return value !== undefined && anyOf.some((pattern) => fits(pattern, value))
}

const fits = (pattern: Pattern, value: string) => {
  switch (pattern.kind) {
    case 'exact':
      return value === pattern.value
    case 'prefix':
      return value.startsWith(pattern.value)
  }
}
