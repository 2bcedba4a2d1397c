import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Bucket, charge, holds, refill, untilFullUs } from '../../bucket/bucket.ts'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import type { Rule } from '../../bucket/rule.ts'
import { systemTimers } from '../../seams/timers.ts'
import type { AskedBucket, BucketKey, GroupKey } from '../core/store.ts'
import { createConnection, type RedisConnection } from './connect.ts'
import { type RedisNode, redisCli, startRedis } from './redis-server.fixture.ts'
import { createRunScript } from './run-script.ts'
import { parseRedisAddress } from './store-address.ts'
import { ruleHash, type ScriptOperation, type StateFormat } from './take-script.ts'

const patience = { retryMs: 2_000, timers: systemTimers, monotonicUs: () => Math.floor(performance.now() * 1000) }

let redis: RedisNode
let connection: RedisConnection
const clock = { nowUs: 1_700_000_000_000_000 }

beforeAll(async () => {
  redis = await startRedis()
  const address = parseRedisAddress(`redis://127.0.0.1:${redis.port}`)
  if (address === undefined) throw new Error('no address')
  const credentials = { password: undefined, ca: undefined, cert: undefined, key: undefined }
  connection = createConnection({ address, credentials, randomness: Math.random, onError: () => {} })
  await connection.connect()
})
afterAll(async () => {
  await connection?.[Symbol.asyncDispose]()
  await redis?.[Symbol.asyncDispose]()
})

const runIn = (stateFormat: StateFormat, operations: readonly ScriptOperation[]) =>
  createRunScript({ connection, stateFormat, ...patience, nowUs: () => clock.nowUs })(operations)

const TEN: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
const randomKey = () => `weir:{0}:s:api:${randomUUID()}`
const bucket = (key: string, rule: Rule = TEN, enforced = true): AskedBucket => ({
  group: '' as GroupKey,
  key: key as BucketKey,
  rule,
  enforced,
})
const take = (key: string, cost: number, buckets: readonly AskedBucket[], times = 1): ScriptOperation => ({
  kind: 'take',
  key,
  cost,
  times,
  buckets,
})
const reset = (key: string, buckets: readonly AskedBucket[]): ScriptOperation => ({
  kind: 'reset',
  key,
  cost: 0,
  times: 1,
  buckets,
})

/** As the README shows a key to a person. */
const show = (key: string) =>
  spawnSync('redis-cli', ['-p', `${redis.port}`, '--eval', join(import.meta.dirname, 'show-buckets.lua'), key], {
    encoding: 'utf8',
  }).stdout.trim()

/** How long an entry says that its bucket is not full: format 2 has one byte for it. */
const keptMs: Readonly<Record<StateFormat, (ms: number) => number>> = {
  1: (ms) => ms,
  2: (ms) => {
    let unit = 1
    while (Math.ceil(ms / unit) > 15) unit *= 2
    return Math.ceil(ms / unit) * unit
  },
}

const keptUntilUs = (
  { bucket, fullAtUs }: { readonly bucket: Bucket; readonly fullAtUs: number },
  stateFormat: StateFormat,
) => bucket.atUs + keptMs[stateFormat]((fullAtUs - bucket.atUs) / 1000) * 1000

/** The script in TypeScript, over the arithmetic of `bucket.ts`: what a single process would do. */
const createModel = () => {
  type Stored = {
    readonly bucket: Bucket
    readonly fullAtUs: number
    readonly epoch: number
    readonly granted: number
    readonly rule: number
  }
  const stored = new Map<string, Stored>()
  return ({ kind, key, cost, times, buckets }: ScriptOperation, nowUs: number, stateFormat: StateFormat) => {
    const before = buckets.map((asked) => {
      const name = `${key} ${asked.key}`
      const found = stored.get(name)
      const kept = found !== undefined && found.fullAtUs > nowUs ? found : undefined
      const now = refill(kept?.bucket, asked.rule, nowUs)
      const isRebased = kept !== undefined && now.atUs < kept.bucket.atUs
      const isFull = now.deficitNano === 0 && now.atUs === nowUs
      return {
        name,
        asked,
        now,
        epoch: kept?.epoch ?? 0,
        granted: kept === undefined || isFull ? 0 : kept.granted,
        rule: kept === undefined || isRebased ? ruleHash(asked.rule) : kept.rule,
        isRebased,
      }
    })
    const write = (one: (typeof before)[number], bucket: Bucket, epoch: number, granted: number) => {
      // Whoever writes a group leaves out the buckets that are full: a clock that is set back later does not bring them back.
      for (const [name, other] of stored) {
        if (!name.startsWith(`${key} `)) continue
        if (other.fullAtUs <= nowUs) stored.delete(name)
        else stored.set(name, { ...other, fullAtUs: keptUntilUs(other, stateFormat) })
      }
      const wholeUs =
        epoch > 0 ? untilFullUs({ deficitNano: one.asked.rule.capacityTokens * 1e9, atUs: 0 }, one.asked.rule) : 0
      const fullAtUs = bucket.atUs + Math.ceil(Math.max(untilFullUs(bucket, one.asked.rule), wholeUs) / 1000) * 1000
      const kept = keptUntilUs({ bucket, fullAtUs }, stateFormat)
      stored.set(one.name, { bucket, fullAtUs: kept, epoch, granted, rule: ruleHash(one.asked.rule) })
    }
    for (const one of before) if (one.isRebased) write(one, one.now, one.epoch, one.granted)
    let granted = 0
    if (kind === 'reset') {
      for (const one of before) write(one, { deficitNano: 0, atUs: one.now.atUs }, one.epoch + 1, 0)
      granted = 1
    } else {
      const states = before.map(({ now }) => now)
      const paid = before.map(() => 0)
      for (; granted < times; granted += 1) {
        if (
          !before.every(
            ({ asked }, index) =>
              !asked.enforced || holds(states[index] ?? { deficitNano: 0, atUs: 0 }, asked.rule, cost),
          )
        )
          break
        for (const [index, { asked }] of before.entries()) {
          const state = states[index]
          if (cost === 0 || state === undefined || !holds(state, asked.rule, cost)) continue
          states[index] = charge(state, cost)
          paid[index] = (paid[index] ?? 0) + cost
        }
      }
      for (const [index, one] of before.entries()) {
        const state = states[index]
        if (state !== undefined && (paid[index] ?? 0) > 0)
          write(one, state, one.epoch, one.granted + (paid[index] ?? 0))
      }
    }
    return {
      granted,
      replayed: false,
      before: before.map(({ now, epoch, granted, rule }) => ({
        bucket: now,
        epoch,
        grantedTokens: granted,
        ruleHash: rule,
      })),
    }
  }
}

describe.each<{ readonly name: string; readonly formats: readonly StateFormat[] }>([
  { name: 'format 1', formats: [1] },
  { name: 'format 2', formats: [2] },
  { name: 'both formats in turn', formats: [1, 2] },
])('take.lua, writing $name', ({ formats }) => {
  let calls = 0
  const formatOf = (call: number) => formats[call % formats.length] ?? 2
  const run = (operations: readonly ScriptOperation[]) => {
    calls += 1
    return runIn(formatOf(calls), operations)
  }

  test('does what the model does, over 30,000 random operations in whole batches', async () => {
    const model = createModel()
    const rules = [
      ...fc.sample(anyRule, 20),
      TEN,
      { capacityTokens: 3, refillTokens: 7, periodS: 9 },
      { capacityTokens: 5, refillTokens: 1, periodS: 3 },
    ]
    const keys = Array.from({ length: 12 }, randomKey)
    const anyBuckets = fc
      .subarray(['a', 'b', 'c', 'd'], { minLength: 1 })
      .chain((names) =>
        fc.tuple(...names.map((name) => fc.tuple(fc.constant(name), fc.constantFrom(...rules), fc.boolean()))),
      )
      .map((drafts) => drafts.map(([name, rule, enforced]) => bucket(name, rule, enforced)))
    const anyOperation = fc.oneof(
      {
        weight: 30,
        arbitrary: fc
          .record({
            key: fc.constantFrom(...keys),
            cost: fc.integer({ min: 0, max: 4 }),
            times: fc.integer({ min: 1, max: 5 }),
            buckets: anyBuckets,
          })
          .map(({ key, cost, times, buckets }) => {
            const capacities = buckets.filter(({ enforced }) => enforced).map(({ rule }) => rule.capacityTokens)
            return take(key, Math.min(cost, ...capacities), buckets, times)
          }),
      },
      {
        weight: 1,
        arbitrary: fc
          .record({ key: fc.constantFrom(...keys), buckets: anyBuckets })
          .map(({ key, buckets }) => reset(key, buckets)),
      },
    )
    const anyStepUs = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 2_000_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_600_000_000 }) },
      // A clock that is set back, a little and a lot.
      { weight: 1, arbitrary: fc.integer({ min: -5_000_000, max: 0 }) },
    )
    const operations = fc.sample(anyOperation, 30_000)
    const steps = fc.sample(anyStepUs, 1_000)
    let refusals = 0
    for (let start = 0, batch = 0; start < operations.length; start += 30, batch += 1) {
      clock.nowUs += steps[batch % steps.length] ?? 0
      const part = operations.slice(start, start + 30)
      const expected = part.map((operation) => model(operation, clock.nowUs, formatOf(batch)))
      const { results } = await runIn(formatOf(batch), part)
      expect(results).toEqual(expected)
      refusals += part.filter((operation, index) => operation.times > (results[index]?.granted ?? 0)).length
    }
    expect(refusals).toBeGreaterThan(1_000)
  }, 180_000)

  test('equal takes merged into one are granted exactly what they would be one after the other', async () => {
    await fc.assert(
      fc.asyncProperty(
        anyRule,
        fc.integer({ min: 1, max: 40 }),
        fc.integer({ min: 1, max: 3 }),
        async (rule, times, cost) => {
          const buckets = [
            bucket('a', rule),
            bucket('b', { ...rule, capacityTokens: rule.capacityTokens + 2 }),
            bucket('c', TEN, false),
          ]
          const possible = Math.min(cost, rule.capacityTokens)
          const [merged, serial] = [randomKey(), randomKey()]
          const {
            results: [one],
          } = await run([take(merged, possible, buckets, times)])
          const { results: each } = await run(Array.from({ length: times }, () => take(serial, possible, buckets)))
          expect(one?.granted).toBe(each.filter((result) => result?.granted === 1).length)
          const [left, right] = (await run([take(merged, 0, buckets), take(serial, 0, buckets)])).results
          expect(left?.before).toEqual(right?.before)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a refusal and a peek write nothing', async () => {
    const key = randomKey()
    await run([take(key, 0, [bucket('a')])])
    expect(redisCli(redis.port, 'EXISTS', key)).toBe('0')
    await run([take(key, 10, [bucket('a')])])
    const before = redisCli(redis.port, 'DUMP', key)
    const ttl = Number(redisCli(redis.port, 'PTTL', key))
    const { results } = await run([take(key, 1, [bucket('a')], 5), take(key, 0, [bucket('a')])])
    expect(results.map((result) => result?.granted)).toEqual([0, 1])
    expect(redisCli(redis.port, 'DUMP', key)).toBe(before)
    expect(Number(redisCli(redis.port, 'PTTL', key))).toBeLessThanOrEqual(ttl)
  })

  test('a key expires a second after its last bucket is full; after a reset, when an empty one would be', async () => {
    const ttlMs = (key: string) => Number(redisCli(redis.port, 'PTTL', key))
    const key = randomKey()
    await run([take(key, 3, [bucket('a')])])
    expect(ttlMs(key)).toBeGreaterThan(3_500)
    expect(ttlMs(key)).toBeLessThanOrEqual(4_000)
    await run([take(key, 7, [bucket('b')])])
    expect(ttlMs(key)).toBeGreaterThan(7_500)
    expect(ttlMs(key)).toBeLessThanOrEqual(8_000)
    const other = randomKey()
    await run([take(other, 1, [bucket('a')]), reset(other, [bucket('a')])])
    expect(ttlMs(other)).toBeGreaterThan(10_500)
    expect(ttlMs(other)).toBeLessThanOrEqual(11_000)
  })

  test('a bucket that is full again leaves its group with the next write', async () => {
    const key = randomKey()
    await run([take(key, 1, [bucket('soon-full')]), take(key, 9, [bucket('a')])])
    expect(show(key)).toMatch(/^a .*\n.*soon-full|^soon-full .*\n.*a /)
    clock.nowUs += 2_000_000
    await run([take(key, 1, [bucket('a')])])
    expect(show(key)).toMatch(/^a .*$/)
  })

  test('a group keeps its 128 emptiest buckets and tells how many went', async () => {
    const key = randomKey()
    const { droppedBuckets } = await run([
      take(key, 10, [bucket('emptied')]),
      ...Array.from({ length: 200 }, (_, index) => take(key, 1, [bucket(`route-${index}`)])),
    ])
    expect(droppedBuckets).toBe(73)
    const { results } = await run([take(key, 0, [bucket('emptied')])])
    expect(results[0]?.before[0]?.bucket.deficitNano).toBe(10e9)
  })

  test('a reset raises the epoch, and what was granted since then counts anew', async () => {
    const key = randomKey()
    await run([take(key, 4, [bucket('a')]), reset(key, [bucket('a')]), take(key, 3, [bucket('a')])])
    const { results } = await run([take(key, 0, [bucket('a')])])
    expect(results[0]?.before[0]).toMatchObject({ bucket: { deficitNano: 3e9 }, epoch: 1, grantedTokens: 3 })
  })

  test('a key written by a newer version is left as it is, and said', async () => {
    const key = randomKey()
    redisCli(redis.port, 'SET', key, '\u0003something')
    await expect(run([take(key, 1, [bucket('a')])])).rejects.toThrow('WEIRFORMAT')
    expect(redisCli(redis.port, 'GET', key)).toContain('something')
  })

  test('what it writes can be read by a person', async () => {
    const key = randomKey()
    await run([take(key, 4, [bucket('per-client')])])
    expect(show(key)).toMatch(/^per-client missing=4\.000000000 at=[\d.]+ full_at=[\d.]+ granted=4 epoch=0$/m)
  })

  test('a bucket outlives the moment at which the time that is kept of it begins anew', async () => {
    const key = randomKey()
    const beganUs = clock.nowUs
    clock.nowUs = 7 * 2 ** 48 - 1_000_000
    await run([take(key, 10, [bucket('a')])])
    const deficits = []
    for (const stepUs of [2_000_000, -1_500_000, 2_500_000]) {
      clock.nowUs += stepUs
      const { results } = await run([take(key, 1, [bucket('a')])])
      deficits.push(results[0]?.before[0]?.bucket.deficitNano)
    }
    // Refilled by 2 s and charged 1; a clock that is set back a little stands still; one more second, and charged 1 each.
    expect(deficits).toEqual([8e9, 9e9, 9e9])
    clock.nowUs = beganUs
  })

  test('a node that has forgotten the script gets it again', async () => {
    const key = randomKey()
    for (let index = 0; index < 5; index += 1) {
      redisCli(redis.port, 'SCRIPT', 'FLUSH')
      const { results } = await run([take(key, 1, [bucket('a')])])
      expect(results[0]?.granted).toBe(1)
    }
  })

  test('without a time of its own it goes by the server’s clock', async () => {
    const key = randomKey()
    const { results } = await createRunScript({ connection, stateFormat: formatOf(0), ...patience })([
      take(key, 1, [bucket('a')]),
    ])
    const skewUs = (results[0]?.before[0]?.bucket.atUs ?? 0) - Date.now() * 1000
    expect(Math.abs(skewUs)).toBeLessThan(5_000_000)
  })
})
