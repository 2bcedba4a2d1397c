import type { Rule } from '../../bucket/rule.ts'
import { type Attributes, type CheckFault, type DomainName, invalid } from '../../contract/check.ts'
import { type Answer, policyName } from '../../contract/decision.ts'
import { type CountedPart, countBuckets, countTogether } from './joint.ts'
import { bucketKey, crossSubjectGroup, subjectGroup } from './key.ts'
import { type JointMatch, type Matched, matchTogether } from './match.ts'
import { memoized } from './memoized.ts'
import type { Observer } from './observer.ts'
import type { CountingPolicy, PolicySet, PolicySets } from './policy.ts'
import { type BucketStore, bucketRef } from './store.ts'

/** Several questions about one request, which pays for all of them or for none. */
export type JointCheck = { readonly domain: DomainName; readonly parts: readonly JointPart[] }

export type JointPart = {
  readonly attributes: Attributes
  /** Whole tokens to take; 0 charges nothing, and asks whether a token is left. */
  readonly cost: number
  /** Numbers that the request brings along: they hold instead of those of any policy. */
  readonly limit?: Rule
}

export type JointChecked =
  /** One answer for each part; the request is refused if one of them is. */
  { readonly ok: true; readonly answers: readonly Answer[] } | { readonly ok: false; readonly fault: CheckFault }

/** As many as a store keeps for one subject. */
const MAX_BUCKETS = 128

type Ports = {
  readonly policies: () => PolicySets
  readonly store: BucketStore
  readonly localStore: Pick<BucketStore, 'take'>
  readonly observer: Observer
}

export const createShouldAllowTogether = ({ policies, store, localStore, observer }: Ports) => {
  const planned = memoized(plan)
  return async ({ domain, parts }: JointCheck): Promise<JointChecked> => {
    const sets = policies()
    const set = sets.get(domain)
    if (set === undefined)
      return { ok: false, fault: { kind: 'unknown_domain', domain, knownDomains: [...sets.keys()] } }
    const { counted, isExempt, uncountable, buckets } = planned(set, parts)
    if (buckets > MAX_BUCKETS)
      return invalid('descriptors', `are charged to more than ${MAX_BUCKETS} buckets: send fewer`)
    for (const policy of uncountable) observer.uncountable(domain, policy)
    const asked = parts.map(({ attributes }) => ({ domain, attributes, mark: observer.asked() }))
    let answers: readonly Answer[] | undefined
    try {
      answers = (await countTogether(counted, { store, localStore })).map((answer, index) =>
        isExempt[index] === true ? EXEMPT : answer,
      )
      return { ok: true, answers }
    } finally {
      for (const [index, part] of asked.entries()) observer.answered(part, answers?.[index], part.mark)
    }
  }
}

type Plan = {
  readonly counted: readonly CountedPart[]
  /** Of each part. */
  readonly isExempt: readonly boolean[]
  readonly uncountable: readonly CountingPolicy[]
  /** How many the request would be charged to. */
  readonly buckets: number
}

const plan = (set: PolicySet, parts: readonly JointPart[]): Plan => {
  const found = matchTogether(
    set,
    parts.map(({ attributes }) => attributes),
  )
  const counted = parts.map((part, index) => ({ cost: part.cost, matched: matchedOf(set, part, found[index]) }))
  return {
    counted,
    isExempt: parts.map(({ limit }, index) => found[index]?.kind === 'exempt' && limit === undefined),
    uncountable: [...countedNowhere(found)],
    buckets: countBuckets(counted),
  }
}

const EXEMPT: Answer = { decision: { verdict: 'allow', basis: 'exempt' }, shadows: [] }

const matchedOf = (set: PolicySet, part: JointPart, found: JointMatch | undefined): readonly Matched[] => {
  if (part.limit !== undefined) return [matchLimit(set, part.attributes, part.limit)]
  return found?.kind === 'counted' ? found.matched : []
}

/** No policy of a file can have this name. */
const LIMIT_NAME = policyName('request.limit')

const matchLimit = ({ domain, subject }: PolicySet, attributes: Attributes, rule: Rule): Matched => {
  const own = attributes.get(subject)
  const parts = [...attributes].flat()
  return {
    policy: {
      kind: 'counting',
      name: LIMIT_NAME,
      conditions: [],
      by: [...attributes.keys()],
      rule,
      overrides: [],
      mode: 'enforce',
      onStoreFailure: 'share',
    },
    asked: {
      ...bucketRef(
        own === undefined ? crossSubjectGroup(domain, LIMIT_NAME, parts) : subjectGroup(domain, own),
        bucketKey(LIMIT_NAME, parts),
      ),
      rule,
      enforced: true,
    },
  }
}

/** Parts have different attributes: a policy that counts one of them misses nothing in the others. */
const countedNowhere = (found: readonly JointMatch[]): ReadonlySet<CountingPolicy> => {
  const uncountable = new Set(found.flatMap((one) => (one.kind === 'counted' ? one.uncountable : [])))
  for (const one of found) if (one.kind === 'counted') for (const { policy } of one.matched) uncountable.delete(policy)
  return uncountable
}
