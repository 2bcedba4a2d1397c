import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { type ControlledStore, openControlledStore } from './controlled-store.fixture.ts'
import { type RedisNode, startRedis } from './redis-server.fixture.ts'

let redis: RedisNode
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.[Symbol.asyncDispose]())

const SECOND = 1_000_000

/** A token a second. */
const anyBucket = (): AskedBucket => ({
  ...bucketRef(`s:api:${randomUUID()}` as GroupKey, 'k' as BucketKey),
  rule: { capacityTokens: 100, refillTokens: 1, periodS: 1 },
  enforced: true,
})

const admit = async (store: BucketStore, bucket: AskedBucket, times: number) => {
  let admitted = 0
  for (let turn = 0; turn < times; turn += 1) {
    const outcome = await store.take({ cost: 1, buckets: [bucket] })
    if (outcome.kind === 'counted' && outcome.granted) admitted += 1
  }
  return admitted
}

/** Limiters whose clocks agree, but for those that begin within the same microsecond. */
const openLimiters = async () => {
  const stack = new AsyncDisposableStack()
  const open = async (): Promise<ControlledStore> =>
    stack.use(await openControlledStore(`redis://127.0.0.1:${redis.port}`))
  const [first, second, stranger] = [await open(), await open(), await open()]
  const all = [first, second, stranger]
  for (const { nowUs, stepUs } of all) stepUs(first.nowUs() - nowUs())
  const each = (what: (limiter: ControlledStore) => void) => all.forEach(what)
  return { first, second, stranger, each, [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose]() }
}

test('a clock that steps 10 s back and forward again gives no limiter that has seen the bucket more than time brings', async () => {
  await using limiters = await openLimiters()
  const { first, second, each } = limiters
  const bucket = anyBucket()
  expect(await admit(first.store, bucket, 101)).toBe(100)
  each(({ stepUs }) => stepUs(-10 * SECOND))
  expect(await admit(second.store, bucket, 1)).toBe(0)
  each(({ stepUs }) => stepUs(10 * SECOND))
  each(({ advanceUs }) => advanceUs(2 * SECOND))
  expect(await admit(first.store, bucket, 20)).toBe(2)
  // It told the store again, so that the other finds the bucket as it should be.
  expect(await admit(second.store, bucket, 20)).toBe(0)
  // Nobody can tell it from a write that was lost.
  expect(first.witnessStats().losses).toBe(1)
})

test('a clock that steps 10 s forward gives a limiter that has seen the bucket nothing, and one that has not 10 s of refill', async () => {
  await using limiters = await openLimiters()
  const { first, stranger, each } = limiters
  const [seen, unseen] = [anyBucket(), anyBucket()]
  for (const bucket of [seen, unseen]) expect(await admit(first.store, bucket, 101)).toBe(100)
  each(({ stepUs }) => stepUs(10 * SECOND))
  each(({ advanceUs }) => advanceUs(2 * SECOND))
  expect(await admit(first.store, seen, 20)).toBe(2)
  expect(await admit(stranger.store, unseen, 20)).toBe(12)
})
