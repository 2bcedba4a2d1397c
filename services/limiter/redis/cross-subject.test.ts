import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { type RedisCluster, startCluster } from './redis-server.fixture.ts'

let cluster: RedisCluster
let store: BucketStore & AsyncDisposable
/** The limiter's own clock, which ends credit; Redis goes by its own. */
const clock = { us: 0 }

beforeAll(async () => {
  cluster = await startCluster({ primaries: 3, replicas: 0 })
  // With its own witnesses a limiter refuses by itself what it has emptied itself: credit is for what others emptied.
  store = await openOrThrow(cluster.address, { monotonicUs: () => clock.us, witnessing: false })
})
afterAll(async () => {
  await store?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

/** Nothing flows in during a test. */
const bucket = (capacityTokens: number, enforced = true): AskedBucket => ({
  ...bucketRef(`s:api:${randomUUID()}` as GroupKey, 'k' as BucketKey),
  rule: { capacityTokens, refillTokens: 1, periodS: 259_200 },
  enforced,
})

const granted = async (limiter: BucketStore, ...buckets: readonly AskedBucket[]) => {
  const outcome = await limiter.take({ cost: 1, buckets })
  if (outcome.kind !== 'counted') throw new Error('the store is away')
  return outcome.granted
}

const remaining = async (asked: AskedBucket) => {
  const outcome = await store.take({ cost: 0, buckets: [asked] })
  if (outcome.kind !== 'counted') throw new Error('the store is away')
  return asked.rule.capacityTokens - Math.round((outcome.readings[0]?.bucket.deficitNano ?? 0) / 1e9)
}

const countGranted = async (requests: readonly Promise<boolean>[]) =>
  (await Promise.all(requests)).filter(Boolean).length

describe('a policy across subjects', () => {
  test('loses nothing to clients whom their own buckets refuse: 1,000 of them flood three limiters, all of it is left to others', async () => {
    await using stack = new AsyncDisposableStack()
    const limiters = await Promise.all(
      Array.from({ length: 3 }, async () => stack.use(await openOrThrow(cluster.address))),
    )
    const everyone = bucket(2_000)
    const clients = Array.from({ length: 1_000 }, () => bucket(1))
    const floodGranted = (round: number) =>
      countGranted(
        clients.map((own, client) => granted(limiters[(client + round) % limiters.length] ?? store, own, everyone)),
      )
    expect(await floodGranted(0)).toBe(1_000)
    for (let round = 1; round <= 10; round += 1) expect(await floodGranted(round)).toBe(0)
    expect(await remaining(everyone)).toBe(1_000)
    const others = Array.from({ length: 1_200 }, (_, turn) => granted(limiters[turn % 3] ?? store, bucket(1), everyone))
    expect(await countGranted(others)).toBe(1_000)
  })

  test('that refuses costs a client nothing in the end: what it paid is spent by its next request', async () => {
    const [own, everyone] = [bucket(10), bucket(3)]
    for (let index = 0; index < 3; index += 1) expect(await granted(store, own, everyone)).toBe(true)
    for (let index = 0; index < 20; index += 1) expect(await granted(store, own, everyone)).toBe(false)
    // One payment in advance, however often it was refused.
    expect(await remaining(own)).toBe(6)
    expect(await store.reset([everyone])).toEqual({ kind: 'reset' })
    expect(await granted(store, own, everyone)).toBe(true)
    expect(await remaining(own)).toBe(6)
  })

  test('that refuses leaves credit for two seconds and no longer; it is not renewed by asking', async () => {
    const [own, everyone] = [bucket(10), bucket(1)]
    expect(await granted(store, own, everyone)).toBe(true)
    expect(await granted(store, own, everyone)).toBe(false)
    clock.us += 1_900_000
    expect(await granted(store, own, everyone)).toBe(false)
    expect(await remaining(own)).toBe(8)
    clock.us += 200_000
    expect(await granted(store, own, everyone)).toBe(false)
    expect(await remaining(own)).toBe(7)
  })

  test('under 200 callers at once grants its capacity, and each client pays for what it got and what it had in flight', async () => {
    const everyone = bucket(500)
    const rehearsed = bucket(300, false)
    const clients = Array.from({ length: 20 }, () => bucket(100))
    const got = new Map<AskedBucket, number>()
    const caller = async (own: AskedBucket) => {
      for (let turn = 0; turn < 20; turn += 1)
        if (await granted(store, own, everyone, rehearsed)) got.set(own, (got.get(own) ?? 0) + 1)
    }
    await Promise.all(clients.flatMap((own) => Array.from({ length: 10 }, () => caller(own))))
    expect([...got.values()].reduce((sum, one) => sum + one, 0)).toBe(500)
    for (const own of clients) {
      const paid = 100 - (await remaining(own))
      expect(paid).toBeGreaterThanOrEqual(got.get(own) ?? 0)
      expect(paid).toBeLessThanOrEqual((got.get(own) ?? 0) + 10)
    }
    expect(await remaining({ ...rehearsed, enforced: true })).toBe(0)
  })
})

describe('a subject’s own buckets', () => {
  test('are charged all or none under 200 callers at once, with one in shadow', async () => {
    const group = `s:api:${randomUUID()}` as GroupKey
    const of = (key: string, capacity: number, enforced = true) => ({
      ...bucket(capacity, enforced),
      group,
      key: key as BucketKey,
    })
    const [wide, narrow, rehearsed] = [of('wide', 1_000), of('narrow', 300), of('rehearsed', 200, false)]
    const requests = Array.from({ length: 1_000 }, () => granted(store, wide, narrow, rehearsed))
    expect(await countGranted(requests)).toBe(300)
    expect(await remaining(wide)).toBe(700)
    expect(await remaining(narrow)).toBe(0)
    expect(await remaining({ ...rehearsed, enforced: true })).toBe(0)
  })
})
