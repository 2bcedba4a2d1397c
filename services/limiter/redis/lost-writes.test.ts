import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../../platform/service.fixture.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { type RedisNode, redisCli, startRedis } from './redis-server.fixture.ts'

let redis: RedisNode
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.[Symbol.asyncDispose]())

const address = () => `redis://127.0.0.1:${redis.port}`

/** Nothing flows in during a test. */
const anyBucket = (capacityTokens = 100): AskedBucket => ({
  ...bucketRef(`s:api:${randomUUID()}` as GroupKey, 'k' as BucketKey),
  rule: { capacityTokens, refillTokens: 1, periodS: 86_400 / 4 },
  enforced: true,
})

/** Asks in turn at each limiter, so often; how many were admitted. While the store is away nobody is. */
const admit = async (limiters: readonly BucketStore[], buckets: readonly AskedBucket[], times: number) => {
  let admitted = 0
  for (let turn = 0; turn < times; turn += 1) {
    const outcome = await limiters[turn % limiters.length]?.take({ cost: 1, buckets })
    if (outcome?.kind === 'counted' && outcome.granted) admitted += 1
  }
  return admitted
}

const answers = async (store: BucketStore) => {
  const outcome = await store.take({ cost: 0, buckets: [anyBucket()] })
  return outcome.kind === 'counted'
}

const faults: readonly (readonly [string, () => unknown])[] = [
  ['is flushed', () => redisCli(redis.port, 'FLUSHALL')],
  ['restarts empty', () => redis.restart()],
  [
    'evicts the bucket',
    () =>
      redisCli(
        redis.port,
        'EVAL',
        "for _, key in ipairs(redis.call('KEYS', 'weir:{*')) do redis.call('DEL', key) end",
        '0',
      ),
  ],
]

test.each(faults)(
  'a store that %s admits hardly more than the bucket held: one token for each limiter at most',
  async (_, fail) => {
    await using first = await openOrThrow(address())
    await using second = await openOrThrow(address())
    await using third = await openOrThrow(address())
    const limiters = [first, second, third]
    const bucket = anyBucket()
    expect(await admit(limiters, [bucket], 80)).toBe(80)
    await fail()
    for (const limiter of limiters) await until(() => answers(limiter))
    const after = await admit(limiters, [bucket], 100)
    expect(after).toBeGreaterThanOrEqual(20)
    expect(after).toBeLessThanOrEqual(20 + limiters.length)
  },
)

test('however much was lost at once, the store is told all of it again before another limiter is the first to ask', async () => {
  await using first = await openOrThrow(address())
  const subjects = Array.from({ length: 400 }, () => {
    const { group, ...bucket } = anyBucket()
    return Array.from({ length: 5 }, (_, index) => ({ ...bucket, ...bucketRef(group, `k${index}` as BucketKey) }))
  })
  const ask = async (store: BucketStore, cost: number) => {
    const outcomes = await Promise.all(subjects.map((buckets) => store.take({ cost, buckets })))
    return outcomes.filter((outcome) => outcome.kind === 'counted' && outcome.granted).length
  }
  expect(await ask(first, 80)).toBe(400)
  redisCli(redis.port, 'FLUSHALL')
  await ask(first, 1)
  // Nothing else is asked of a shard before it has been told.
  await Promise.all(Array.from({ length: 50 }, () => answers(first)))
  await using second = await openOrThrow(address())
  expect(await ask(second, 25)).toBe(0)
})

test('without witnesses the same loss admits all of it a second time', async () => {
  await using store = await openOrThrow(address(), { witnessing: false })
  const bucket = anyBucket()
  expect(await admit([store], [bucket], 80)).toBe(80)
  redisCli(redis.port, 'FLUSHALL')
  expect(await admit([store], [bucket], 150)).toBe(100)
})

test('a reset that was lost is made good: the tokens that it brought are there again', async () => {
  await using store = await openOrThrow(address())
  const bucket = anyBucket(10)
  expect(await admit([store], [bucket], 12)).toBe(10)
  const key = redisCli(redis.port, 'EVAL', `return redis.call('KEYS', '*${bucket.group}*')[1]`, '0')
  const emptied = execFileSync('redis-cli', ['-p', `${redis.port}`, 'DUMP', key]).subarray(0, -1)
  expect(await store.reset([bucket])).toEqual({ kind: 'reset' })
  expect(await admit([store], [bucket], 3)).toBe(3)
  const restore = ['-p', `${redis.port}`, '-x', 'RESTORE', key, '60000']
  // The state from before the reset, as a replica that never heard of it would have it.
  execFileSync('redis-cli', [...restore.slice(0, 2), '-x', 'RESTORE', key, '60000'], {
    input: emptied,
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const after = await admit([store], [bucket], 12)
  expect(after).toBeGreaterThanOrEqual(6)
  expect(after).toBeLessThanOrEqual(7)
})

test('an empty bucket costs the store a call a second, however often it is asked; what an operator fills is seen within that second', async () => {
  await using store = await openOrThrow(address())
  await using operator = await openOrThrow(address())
  const bucket = anyBucket(5)
  const calls = () =>
    Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(redisCli(redis.port, 'INFO', 'commandstats'))?.[1] ?? 0)
  expect(await admit([store], [bucket], 6)).toBe(5)
  const [startMs, before] = [performance.now(), calls()]
  expect(await admit([store], [bucket], 10_000)).toBe(0)
  const seconds = Math.ceil((performance.now() - startMs) / 1_000)
  expect(calls() - before).toBeLessThanOrEqual(seconds)
  await operator.reset([bucket])
  await until(async () => (await admit([store], [bucket], 1)) === 1)
})

test('a refusal without the store costs the other buckets of the request nothing, and tells of each', async () => {
  await using store = await openOrThrow(address())
  const [wide, narrow] = [anyBucket(50), anyBucket(3)]
  const both = [wide, { ...narrow, group: wide.group, key: 'narrow' as BucketKey }]
  expect(await admit([store], both, 100)).toBe(3)
  const outcome = await store.take({ cost: 1, buckets: both })
  expect(outcome).toMatchObject({ kind: 'counted', granted: false, readings: [{ held: true }, { held: false }] })
  expect(await admit([store], [wide], 100)).toBe(47)
})
