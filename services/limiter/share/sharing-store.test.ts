import { describe, expect, test } from 'vitest'
import { makeRule } from '../../bucket/rule.ts'
import type { Timers } from '../../seams/timers.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey, type TakeOutcome } from '../core/store.ts'
import { createSharedStore, type Weather } from './remote.fixture.ts'
import { createSharingStore } from './sharing-store.ts'

const bucketOf = (capacityTokens: number, refillTokens: number, name = 'subject'): AskedBucket => {
  const made = makeRule(capacityTokens, refillTokens, 1)
  if (!made.ok) throw new Error('no rule')
  return { ...bucketRef(name as GroupKey, 'k' as BucketKey), rule: made.rule, enforced: true }
}

/** Limiters on one store, on a clock that only the test moves. */
const open = (limiterCount: number, believed = limiterCount) => {
  let nowUs = 1_700_000_000_000_000
  const due: { readonly atUs: number; readonly callback: () => void }[] = []
  const timers: Timers = {
    after: (delayMs, callback) => {
      const timer = { atUs: nowUs + delayMs * 1000, callback }
      due.push(timer)
      return () => void due.splice(due.indexOf(timer), 1)
    },
    afterPoll: (callback) => callback(),
  }
  const shared = createSharedStore(() => nowUs)
  const limiters = Array.from({ length: limiterCount }, (_, index) => {
    const { remote, setWeather } = shared.connect()
    const randomness = () => (index + 1) / (limiterCount + 1)
    const monotonicUs = () => nowUs
    const sharing = createSharingStore({ remote, replicas: () => believed, monotonicUs, timers, randomness })
    const take = async (asked: AskedBucket, cost = 1): Promise<Counted & { readonly kind: 'counted' }> => {
      const outcome = await sharing.store.take({ cost, buckets: [asked] })
      if (outcome.kind === 'counted') return outcome
      const local = await sharing.local.take({ cost, buckets: [asked] })
      if (local.kind !== 'counted') throw new Error('the local store does not answer')
      await outcome.settle(local.granted)
      return local
    }
    return { take, setWeather, stats: sharing.stats, reset: sharing.store.reset }
  })
  const advanceMs = async (ms: number) => {
    nowUs += ms * 1000
    for (const timer of due.filter(({ atUs }) => atUs <= nowUs)) {
      due.splice(due.indexOf(timer), 1)
      timer.callback()
    }
    // Debits are on their way.
    for (let turn = 0; turn < 20; turn += 1) await Promise.resolve()
  }
  return {
    limiters,
    advanceMs,
    shared,
    setWeather: (weather: Weather) => {
      for (const limiter of limiters) limiter.setWeather(weather)
    },
  }
}
type Counted = Extract<TakeOutcome, { kind: 'counted' }>

const left = (outcome: Counted) => Math.floor(100 - (outcome.readings[0]?.bucket.deficitNano ?? 0) / 1e9)

/** Offers requests for a while, each to the limiter that `pick` says; how many were admitted. */
const offer = async (
  { limiters, advanceMs }: ReturnType<typeof open>,
  asked: AskedBucket,
  { perSecond, seconds, pick }: { perSecond: number; seconds: number; pick: (index: number) => number },
) => {
  let admitted = 0
  for (let index = 0; index < perSecond * seconds; index += 1) {
    const outcome = await limiters[pick(index)]?.take(asked)
    admitted += outcome?.granted === true ? 1 : 0
    await advanceMs(1000 / perSecond)
  }
  return admitted
}

const C = 100
const R = 10
const evenly = (limiterCount: number) => (index: number) => index % limiterCount
/** Two of three requests go to the first limiter. */
const skewed = (limiterCount: number) => (index: number) =>
  index % 3 < 2 ? 0 : 1 + (Math.floor(index / 3) % (limiterCount - 1))

describe('while the store is away', () => {
  test.each([
    ['even load', 4, 4, evenly(4)],
    ['a load that prefers one limiter', 4, 4, skewed(4)],
    ['a wrong idea of how many limiters there are', 10, 7, evenly(10)],
  ])('all limiters together admit what the bucket would have: %s', async (_, limiterCount, believed, pick) => {
    const fleet = open(limiterCount, believed)
    const asked = bucketOf(C, R)
    // Three times what the bucket gains, until it is empty and everybody knows their part.
    const before = await offer(fleet, asked, { perSecond: 30, seconds: 20, pick })
    expect(before).toBeGreaterThanOrEqual(C + R * 19)
    fleet.setWeather('away')
    const meanwhile = await offer(fleet, asked, { perSecond: 30, seconds: 30, pick })
    fleet.setWeather('up')
    const after = await offer(fleet, asked, { perSecond: 30, seconds: 20, pick })
    expect(meanwhile).toBeGreaterThanOrEqual(R * 30 * 0.95)
    expect(meanwhile).toBeLessThanOrEqual(R * 30 * 1.05 + C * 0.12)
    // The bucket was filled by time while nobody charged it: what was admitted meanwhile is charged before it is asked again.
    expect(meanwhile + after).toBeLessThanOrEqual(R * 50 * 1.05 + C * 0.12)
    expect(after).toBeGreaterThanOrEqual(R * 20 * 0.85)
  })

  test('a bucket that nobody has seen is shared by the number of limiters', async () => {
    const fleet = open(4)
    fleet.setWeather('away')
    const asked = bucketOf(C, 1)
    let admitted = 0
    for (let index = 0; index < 200; index += 1)
      admitted += (await fleet.limiters[0]?.take(asked))?.granted === true ? 1 : 0
    expect(admitted).toBe(25)
  })

  test('every limiter admits one request of a small bucket, however many limiters there are', async () => {
    const fleet = open(20)
    fleet.setWeather('away')
    const asked = bucketOf(5, 1)
    const outcomes = []
    for (const limiter of fleet.limiters) outcomes.push(await limiter.take(asked), await limiter.take(asked))
    expect(outcomes.filter(({ granted }) => granted)).toHaveLength(20)
  })

  test('what a limiter admitted is charged once, also if nobody asks for the bucket again', async () => {
    const fleet = open(2)
    const [one] = fleet.limiters
    const asked = bucketOf(C, 1)
    fleet.setWeather('away')
    for (let index = 0; index < 10; index += 1) await one?.take(asked)
    expect(one?.stats()).toMatchObject({ openAccounts: 1 })
    fleet.setWeather('up')
    await fleet.advanceMs(300)
    expect(one?.stats()).toMatchObject({ openAccounts: 0 })
    const seen = await fleet.shared.take({ cost: 0, buckets: [asked] })
    expect(seen.kind === 'counted' && left(seen)).toBe(C - 10)
    await fleet.advanceMs(1_000)
    expect(one?.stats()).toMatchObject({ lostNano: 0 })
  })

  test('a reset is owed nothing from before it', async () => {
    const fleet = open(1)
    const [one] = fleet.limiters
    const asked = bucketOf(C, 1)
    fleet.setWeather('away')
    for (let index = 0; index < 10; index += 1) await one?.take(asked)
    fleet.setWeather('up')
    await one?.reset([asked])
    const outcome = await one?.take(asked)
    expect(outcome && left(outcome)).toBe(C - 1)
  })
})

describe('a single take that the store does not answer in time', () => {
  test('is owed nothing when a late reply says that it was charged', async () => {
    const fleet = open(1)
    const [one] = fleet.limiters
    const asked = bucketOf(C, 1)
    await one?.take(asked)
    fleet.setWeather('late')
    expect(await one?.take(asked)).toMatchObject({ basis: 'share', granted: true })
    fleet.setWeather('up')
    const outcome = await one?.take(asked)
    expect(outcome && left(outcome)).toBe(C - 3)
  })

  test('is owed when its reply is lost', async () => {
    const fleet = open(1)
    const [one] = fleet.limiters
    const asked = bucketOf(C, 1)
    await one?.take(asked)
    fleet.setWeather('lost')
    expect(await one?.take(asked)).toMatchObject({ basis: 'share', granted: true })
    fleet.setWeather('up')
    const outcome = await one?.take(asked)
    expect(outcome && left(outcome)).toBe(C - 3)
  })
})

test('what the store charges late is not given away again while it is away', async () => {
  const fleet = open(1)
  const [one] = fleet.limiters
  const asked = bucketOf(10, 1)
  fleet.setWeather('late')
  for (let index = 0; index < 6; index += 1) expect((await one?.take(asked))?.granted).toBe(true)
  fleet.setWeather('away')
  let admitted = 0
  while ((await one?.take(asked))?.granted === true) admitted += 1
  expect(admitted).toBe(4)
})

test('a bucket that nobody looked at is not taken for full when the store is away', async () => {
  const shared = createSharedStore(() => 0)
  const asked = bucketOf(10, 1)
  const { remote, setWeather } = shared.connect()
  const unseen = { bucket: { deficitNano: 0, atUs: 0 }, held: true, isUnseen: true } as const
  let isLookedAt = true
  const sharing = createSharingStore({
    remote: {
      ...remote,
      take: async (take) =>
        isLookedAt
          ? remote.take(take)
          : { kind: 'counted', basis: 'bucket', granted: false, replayed: false, readings: [unseen] },
    },
    replicas: () => 1,
    monotonicUs: () => 0,
    timers: { after: () => () => {}, afterPoll: (callback) => callback() },
    randomness: () => 0.5,
  })
  await sharing.store.take({ cost: 10, buckets: [asked] })
  isLookedAt = false
  await sharing.store.take({ cost: 1, buckets: [asked] })
  setWeather('away')
  expect(await sharing.local.take({ cost: 1, buckets: [asked] })).toMatchObject({ granted: false })
})

test('a share announces a true wait: after it, the share holds the cost', async () => {
  const fleet = open(4)
  fleet.setWeather('away')
  const [one] = fleet.limiters
  const asked = bucketOf(C, 8)
  for (let index = 0; index < 25; index += 1) await one?.take(asked)
  expect(await one?.take(asked)).toMatchObject({ granted: false })
  await fleet.advanceMs(499)
  expect(await one?.take(asked)).toMatchObject({ granted: false })
  await fleet.advanceMs(1)
  expect(await one?.take(asked)).toMatchObject({ granted: true })
})
