import { randomUUID } from 'node:crypto'
import type { Rule } from '../../bucket/rule.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from './store.ts'

/** A store whose clock the test moves: no test of it races real time. */
export type StoreUnderTest = AsyncDisposable & {
  readonly store: BucketStore
  readonly nowUs: () => number
  readonly advanceUs: (us: number) => void
}
export type OpenStore = () => Promise<StoreUnderTest>

export const TEN: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
export const THREE: Rule = { capacityTokens: 3, refillTokens: 1, periodS: 60 }

/** Names are random, so tests share a store without a flush. */
export const randomGroup = () => `s:${randomUUID()}` as GroupKey

export const asked = (group: GroupKey, key: string, rule: Rule, enforced = true): AskedBucket => ({
  ...bucketRef(group, key as BucketKey),
  rule,
  enforced,
})

export const take = async (store: BucketStore, cost: number, ...buckets: readonly AskedBucket[]) => {
  const outcome = await store.take({ cost, buckets })
  if (outcome.kind !== 'counted') throw new Error('the store is away')
  return outcome
}

/** How many takes of 1 the buckets still grant. */
export const drain = async (store: BucketStore, ...buckets: readonly AskedBucket[]) => {
  for (let granted = 0; ; granted += 1) if (!(await take(store, 1, ...buckets)).granted) return granted
}
