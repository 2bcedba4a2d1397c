import { describe, expect, test } from 'vitest'
import type { Rule } from '../../bucket/rule.ts'
import { createMemoryStore, MAX_BUCKETS_PER_GROUP } from './memory-store.ts'
import { describeStore } from './store.conformance.ts'
import { type BucketKey, type BucketStore, bucketRef, type GroupKey } from './store.ts'

const openStore = async () => {
  let nowUs = 1_700_000_000_000_000
  return {
    store: createMemoryStore({ nowUs: () => nowUs }),
    nowUs: () => nowUs,
    advanceUs: (us: number) => {
      nowUs += us
    },
    [Symbol.asyncDispose]: async () => {},
  }
}

describeStore('the memory store', { open: openStore, propertyRuns: 3_000 })

describe('the memory store stays bounded', () => {
  const rule: Rule = { capacityTokens: 100, refillTokens: 1, periodS: 1 }
  const take = (store: BucketStore, group: string, key: string, cost: number) =>
    store.take({ cost, buckets: [{ ...bucketRef(group as GroupKey, key as BucketKey), rule, enforced: true }] })
  const remaining = async (store: BucketStore, group: string, key = 'k') => {
    const outcome = await take(store, group, key, 0)
    return outcome.kind === 'counted' ? 100 - (outcome.readings[0]?.bucket.deficitNano ?? 0) / 1e9 : undefined
  }

  test('a million subjects leave no more than the bound, and an emptied bucket outlives the flood', async () => {
    const store = createMemoryStore({ nowUs: () => 0, maxGroups: 1_000 })
    await take(store, 'abuser', 'k', 100)
    for (let index = 0; index < 1_000_000; index += 1) await take(store, `passer-by-${index}`, 'k', 1)
    expect(store.stats().groups).toBe(1_000)
    expect(store.stats().evictedGroups).toBe(999_001)
    expect(await remaining(store, 'abuser')).toBe(0)
  })

  test('keys that are as long as they may be leave no more than the bound of bytes', async () => {
    const store = createMemoryStore({ nowUs: () => 0, maxBytes: 1_000_000 })
    await take(store, 'abuser', 'k', 100)
    for (let index = 0; index < 5_000; index += 1) await take(store, `${index}${'x'.repeat(3_000)}`, 'k', 1)
    expect(store.stats().groups).toBeGreaterThan(140)
    expect(store.stats().groups).toBeLessThan(165)
    expect(await remaining(store, 'abuser')).toBe(0)
    // Nor can one subject fill it with its buckets.
    const small = createMemoryStore({ nowUs: () => 0, maxBytes: 100_000 })
    for (let index = 0; index < 1_000; index += 1) await take(small, 'subject', `${index}${'x'.repeat(3_000)}`, 1)
    expect(small.stats().evictedGroups).toBeGreaterThan(50)
  })

  test('what is forgotten weighs nothing: room that was used can be used again, without an end', async () => {
    let nowUs = 0
    const store = createMemoryStore({ nowUs: () => nowUs, maxBytes: 100_000 })
    for (let round = 0; round < 200; round += 1) {
      for (let index = 0; index < 50; index += 1) await take(store, `${round}-${index}`, 'k', 1)
      nowUs += 10_000_000
    }
    expect(store.stats().evictedGroups).toBe(0)
  })

  test('of few subjects, the fullest goes', async () => {
    const store = createMemoryStore({ nowUs: () => 0, maxGroups: 3 })
    await take(store, 'a', 'k', 50)
    await take(store, 'b', 'k', 10)
    await take(store, 'c', 'k', 30)
    await take(store, 'd', 'k', 20)
    const left = await Promise.all(['a', 'b', 'c', 'd'].map((group) => remaining(store, group)))
    expect(left).toEqual([50, 100, 70, 80])
  })

  test('a subject keeps its emptiest buckets', async () => {
    const store = createMemoryStore({ nowUs: () => 0 })
    await take(store, 'subject', 'emptied', 100)
    for (let index = 0; index < 10 * MAX_BUCKETS_PER_GROUP; index += 1)
      await take(store, 'subject', `route-${index}`, 1)
    expect(await remaining(store, 'subject', 'emptied')).toBe(0)
    expect(store.stats().evictedBuckets).toBe(9 * MAX_BUCKETS_PER_GROUP + 1)
  })

  test('buckets that are full again are forgotten as others come', async () => {
    let nowUs = 0
    const store = createMemoryStore({ nowUs: () => nowUs })
    for (let index = 0; index < 1_000; index += 1) await take(store, `old-${index}`, 'k', 1)
    nowUs = 1_000_000
    for (let index = 0; index < 500; index += 1) await take(store, `new-${index}`, 'k', 1)
    expect(store.stats()).toMatchObject({ groups: 500, evictedGroups: 0 })
  })

  test('a refused take and a peek leave nothing behind', async () => {
    const store = createMemoryStore({ nowUs: () => 0 })
    await take(store, 'peeked', 'k', 0)
    await take(store, 'refused', 'k', 101)
    expect(store.stats().groups).toBe(0)
  })
})
