import type { Check } from '../../contract/check.ts'
import type { Answer } from '../../contract/decision.ts'
import { decide, decideUncounted } from './decide.ts'
import type { Matched } from './match.ts'
import { oncePer } from './once-per.ts'
import type { BucketStore, Take } from './store.ts'

export type Stores = {
  readonly store: Pick<BucketStore, 'take'>
  /** Where policies with `onStoreFailure: share` are counted while the store is away: in this process. */
  readonly localStore: Pick<BucketStore, 'take'>
}

type Asked = Pick<Check, 'cost' | 'requestId'>

/** Counts one check against the policies that match it. */
export const count = async (
  matched: readonly Matched[],
  check: Asked,
  { store, localStore }: Stores,
): Promise<Answer> => {
  if (matched.length === 0) return { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] }
  const { cost } = check
  const impossible = matched.find(({ asked }) => asked.enforced && cost > asked.rule.capacityTokens)
  if (impossible !== undefined)
    return { decision: { verdict: 'deny', basis: 'never_satisfiable', policy: impossible.policy.name }, shadows: [] }
  const outcome = await store.take(takeOf(matched, check))
  if (outcome.kind === 'counted') return decide(matched, cost, outcome)
  const answer = await countLocally(matched, check, localStore)
  void outcome.settle(answer.decision.verdict === 'allow')
  return answer
}

/** While the store is away, a policy that says deny refuses, one that says allow steps aside, and the others are counted here. */
const countLocally = async (
  matched: readonly Matched[],
  check: Asked,
  localStore: Stores['localStore'],
): Promise<Answer> => {
  const shared = matched.filter(({ policy }) => policy.onStoreFailure === 'share')
  const uncounted = decideUncounted(matched)
  if (uncounted.verdict === 'deny' || !shared.some(({ asked }) => asked.enforced))
    return { decision: uncounted, shadows: [] }
  const outcome = await localStore.take(takeOf(shared, check))
  if (outcome.kind === 'unavailable') return { decision: uncounted, shadows: [] }
  return decide(shared, check.cost, { ...outcome, basis: 'share' })
}

/** The same list for the same plan, so that a store need not look at it twice. */
const bucketsOf = oncePer((matched: readonly Matched[]) => matched.map(({ asked }) => asked))

const takeOf = (matched: readonly Matched[], { cost, requestId }: Asked): Take =>
  requestId === undefined ? { cost, buckets: bucketsOf(matched) } : { cost, buckets: bucketsOf(matched), requestId }
