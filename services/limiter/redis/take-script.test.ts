import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import type { Rule } from '../../bucket/rule.ts'
import { systemTimers } from '../../seams/timers.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import type { Testimony } from '../witness/witnesses.ts'
import { createConnection, type RedisConnection } from './connect.ts'
import { noCredentials } from './open-store.fixture.ts'
import { type RedisNode, redisCli, startRedis } from './redis-server.fixture.ts'
import { createRunScript } from './run-script.ts'
import { createScriptModel } from './script-model.fixture.ts'
import { parseRedisAddress } from './store-address.ts'
import type { ScriptOperation, StateFormat } from './take-script.ts'

const patience = { retryMs: 20_000, timers: systemTimers, monotonicUs: () => Math.floor(performance.now() * 1000) }

let redis: RedisNode
let connection: RedisConnection
const clock = { nowUs: 1_700_000_000_000_000 }

beforeAll(async () => {
  redis = await startRedis()
  const address = parseRedisAddress(`redis://127.0.0.1:${redis.port}`)
  if (address === undefined) throw new Error('no address')
  connection = createConnection({ address, credentials: noCredentials, randomness: Math.random, onError: () => {} })
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
  ...bucketRef('' as GroupKey, key as BucketKey),
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
    const model = createScriptModel()
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
    const roomy = bucket('roomy', { capacityTokens: 1_000, refillTokens: 1_000, periodS: 1 })
    const crowded = fc.constantFrom(...keys.slice(0, 2))
    // Ids that come again, in turn with new ones; `identified` makes them.
    const anyId = fc.constantFrom('0', '1')
    const anyOperation = fc.oneof(
      {
        weight: 8,
        arbitrary: fc
          .record({
            key: crowded,
            cost: fc.constantFrom(0, 1, 1, 1, 2),
            more: fc.option(anyBuckets, { freq: 1 }),
            requestId: anyId,
          })
          .map(({ key, cost, more, requestId }) => {
            const buckets = more === null ? [roomy] : more
            const capacities = buckets.filter(({ enforced }) => enforced).map(({ rule }) => rule.capacityTokens)
            return { ...take(key, Math.min(cost, ...capacities), buckets), requestId }
          }),
      },
      {
        weight: 2,
        arbitrary: fc
          .record({
            key: fc.constantFrom(...keys),
            cost: fc.integer({ min: 0, max: 4 }),
            extraNano: fc.integer({ min: 0, max: 999_999_999 }),
            buckets: anyBuckets,
            requestId: anyId,
          })
          .map((drafted): ScriptOperation => ({ kind: 'debit', times: 1, ...drafted })),
      },
      {
        // More buckets than a group keeps.
        weight: 1,
        arbitrary: fc
          .record({
            key: crowded,
            first: fc.integer({ min: 100, max: 300 }),
            count: fc.integer({ min: 1, max: 80 }),
            rule: fc.nat(rules.length - 1),
          })
          .map(({ key, first, count, rule }) => {
            const nameless = Array.from({ length: count }, (_, index) => rules[(rule + index) % rules.length] ?? TEN)
            return take(
              key,
              1,
              nameless.map((one, index) => bucket(`n${first + index}`, one, index % 3 === 0)),
            )
          }),
      },
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
    const identified = (operation: ScriptOperation, turn: number): ScriptOperation =>
      operation.requestId === undefined
        ? operation
        : { ...operation, requestId: `${Math.floor(turn / 20) - Number(operation.requestId)}` }
    const anyStepUs = fc.oneof(
      { weight: 5, arbitrary: fc.integer({ min: 0, max: 2_000_000 }) },
      { weight: 1, arbitrary: fc.integer({ min: 0, max: 3_600_000_000 }) },
      // A clock that is set back, a little and a lot.
      { weight: 1, arbitrary: fc.integer({ min: -5_000_000, max: 0 }) },
    )
    const anyWitness = fc.record({
      part: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
      ageUs: fc.integer({ min: 0, max: 5_000_000 }),
      vagueUs: fc.integer({ min: 0, max: 1_000_000 }),
      skewUs: fc.integer({ min: -3_000_000, max: 3_000_000 }),
      epoch: fc.integer({ min: 0, max: 40 }),
      granted: fc.integer({ min: 0, max: 1_000 }),
    })
    const operations = fc.sample(anyOperation, 30_000).map(identified)
    const witnesses = fc.sample(anyWitness, 1_000)
    /** One operation in eight is told what limiters have seen, or say that they have. */
    const testified = (operation: ScriptOperation, turn: number): ScriptOperation => {
      if (turn % 8 !== 0) return operation
      const testimonies = operation.buckets.map(({ rule }, index): Testimony | undefined => {
        const witness = witnesses[(turn + index) % witnesses.length]
        if (witness === undefined || witness.part === 0) return undefined
        const leastElapsedUs = witness.ageUs - witness.vagueUs
        return {
          bucket: {
            deficitNano: Math.floor(witness.part * rule.capacityTokens * 1e9),
            atUs: clock.nowUs - witness.ageUs + witness.skewUs,
          },
          epoch: witness.epoch,
          grantedTokens: witness.granted,
          ruleHash: 0,
          leastElapsedUs: Math.max(0, leastElapsedUs),
          mostElapsedUs: witness.ageUs + witness.vagueUs,
        }
      })
      return { ...operation, testimonies }
    }
    const steps = fc.sample(anyStepUs, 1_000)
    let [refusals, replays, droppedBuckets] = [0, 0, 0]
    for (let start = 0, batch = 0; start < operations.length; start += 30, batch += 1) {
      // One stretch of batches in four is so dense that more requests come than are remembered.
      clock.nowUs += batch % 400 < 100 ? 1 + (batch % 7) : (steps[batch % steps.length] ?? 0)
      const part = operations.slice(start, start + 30).map((operation, index) => testified(operation, start + index))
      for (let rest = part; rest.length > 0; ) {
        const { lineage: _, ...found } = await runIn(formatOf(batch), rest)
        const ran = rest.slice(0, found.results.length)
        expect(found).toEqual(model(ran, clock.nowUs, formatOf(batch)))
        refusals += ran.filter(({ times }, index) => times > (found.results[index]?.granted ?? 0)).length
        replays += found.results.filter((result) => result?.replayed).length
        droppedBuckets += found.droppedBuckets
        rest = rest.slice(ran.length)
      }
    }
    expect(refusals).toBeGreaterThan(1_000)
    expect(replays).toBeGreaterThan(500)
    expect(droppedBuckets).toBeGreaterThan(1_000)
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
    await run([take(key, 10, [bucket('emptied')])])
    let dropped = 0
    for (let index = 0; index < 200; index += 1)
      dropped += (await run([take(key, 1, [bucket(`route-${index}`)])])).droppedBuckets
    expect(dropped).toBe(73)
    const { results } = await run([take(key, 0, [bucket('emptied')])])
    expect(results[0]?.before[0]?.bucket.deficitNano).toBe(10e9)
  })

  test('a bucket that is asked for outlives any number of emptier ones beside it, and so do remembered requests', async () => {
    const key = randomKey()
    const own = bucket('own', { capacityTokens: 1_000, refillTokens: 1_000, periodS: 1 })
    let dropped = 0
    for (let index = 0; index < 300; index += 1) {
      const { results, droppedBuckets } = await run([take(key, 1, [own, bucket(`route-${index}`)])])
      expect(results[0]?.before[0]?.bucket.deficitNano).toBe(index * 1e9)
      dropped += droppedBuckets
    }
    expect(dropped).toBe(300 - 127)
    const retried = { ...take(key, 1, [own]), requestId: 'retried' }
    await run([retried])
    for (let index = 0; index < 200; index += 1) await run([take(key, 1, [bucket(`further-${index}`)])])
    expect((await run([retried])).results[0]?.replayed).toBe(true)
  })

  test('of more remembered requests than 128 the first go, and none of the buckets for them', async () => {
    const key = randomKey()
    const own = bucket('own', { capacityTokens: 1_000, refillTokens: 1_000, periodS: 1 })
    await run([take(key, 1, [bucket('beside')])])
    for (let index = 0; index < 300; index += 1) {
      clock.nowUs += 1
      const { results } = await run([{ ...take(key, 1, [own]), requestId: `${index}` }])
      expect(results[0]?.before[0]?.bucket.deficitNano).toBeGreaterThan((index - 1) * 1e9)
    }
    const again = async (index: number) => (await run([{ ...take(key, 1, [own]), requestId: `${index}` }])).results[0]
    expect(await again(299)).toMatchObject({ replayed: true })
    expect(await again(180)).toMatchObject({ replayed: true })
    expect(await again(0)).toMatchObject({ replayed: false })
    const { results } = await run([take(key, 0, [bucket('beside')])])
    expect(results[0]?.before[0]?.bucket.deficitNano).toBeGreaterThan(0.9e9)
  })

  test('a call ends once it has read 1,024 entries or asked for as many, and what it did not come to has not run', async () => {
    const keys = Array.from({ length: 20 }, randomKey)
    const buckets = Array.from({ length: 128 }, (_, index) => bucket(`route-${index}`))
    const drain = keys.map((key) => take(key, 1, buckets))
    const first = await run(drain)
    expect(first.results.map((result) => result?.granted)).toEqual(Array(8).fill(1))
    for (const each of drain.slice(8)) expect((await run([each])).results).toMatchObject([{ granted: 1 }])
    // Of groups as large one bucket each: those that are read count.
    const { results } = await run(keys.map((key) => take(key, 1, [bucket('route-0')])))
    expect(results.map((result) => result?.before[0]?.bucket.deficitNano)).toEqual(Array(8).fill(1e9))
  })

  test('an id stands for what was paid under it: another cost, or another bucket, pays for itself', async () => {
    const key = randomKey()
    const under = (cost: number, name: string) => ({ ...take(key, cost, [bucket(name)]), requestId: 'same' })
    const { results } = await run([under(1, 'a'), under(1, 'a'), under(2, 'a'), under(1, 'b')])
    expect(results.map((result) => result?.replayed)).toEqual([false, true, false, false])
  })

  test('a reset raises the epoch, and what was granted since then counts anew', async () => {
    const key = randomKey()
    await run([take(key, 4, [bucket('a')]), reset(key, [bucket('a')]), take(key, 3, [bucket('a')])])
    const { results } = await run([take(key, 0, [bucket('a')])])
    expect(results[0]?.before[0]).toMatchObject({ bucket: { deficitNano: 3e9 }, epoch: 1, grantedTokens: 3 })
  })

  test('a charge by another rule than the last begins a new epoch; reading by it does not', async () => {
    const key = randomKey()
    const other: Rule = { capacityTokens: 20, refillTokens: 2, periodS: 1 }
    await run([take(key, 4, [bucket('a')]), take(key, 0, [bucket('a', other)]), take(key, 1, [bucket('a', other)])])
    const { results } = await run([take(key, 0, [bucket('a', other)])])
    expect(results[0]?.before[0]).toMatchObject({ bucket: { deficitNano: 5e9 }, epoch: 1, grantedTokens: 5 })
  })

  test('what a limiter has seen of a bucket makes good what was forgotten, and tells nothing to one that remembers', async () => {
    const key = randomKey()
    const testimony = (deficitNano: number, epoch: number): Testimony => ({
      bucket: { deficitNano, atUs: clock.nowUs },
      epoch,
      grantedTokens: 7,
      ruleHash: 0,
      leastElapsedUs: 0,
      mostElapsedUs: 1_000_000,
    })
    const testify = (deficitNano: number, epoch: number) => ({
      ...take(key, 0, [bucket('a')]),
      testimonies: [testimony(deficitNano, epoch)],
    })
    const missing = async (operation: ScriptOperation) => (await run([operation])).results[0]?.before[0]
    expect(await missing(testify(7e9, 0))).toMatchObject({ bucket: { deficitNano: 7e9 - 1 }, grantedTokens: 6 })
    expect(await missing(testify(6e9, 0))).toMatchObject({ bucket: { deficitNano: 7e9 - 1 } })
    // A reset that was lost: what was charged after it counts, not what was before.
    expect(await missing(testify(2e9, 1))).toMatchObject({ bucket: { deficitNano: 2e9 - 1 }, epoch: 1 })
    expect(await missing(testify(9e9, 0))).toMatchObject({ bucket: { deficitNano: 2e9 - 1 }, epoch: 1 })
    expect(await missing(take(key, 0, [bucket('a')]))).toMatchObject({ bucket: { deficitNano: 2e9 - 1 }, epoch: 1 })
  })

  test('a key written by a newer version is left as it is, and said', async () => {
    const key = randomKey()
    redisCli(redis.port, 'SET', key, '\u0003something')
    await expect(run([take(key, 1, [bucket('a')])])).rejects.toThrow('WEIRFORMAT')
    expect(redisCli(redis.port, 'GET', key)).toContain('something')
  })

  test('a key written by a newer version spoils none of the takes beside it', async () => {
    const [newer, known] = [randomKey(), randomKey()]
    redisCli(redis.port, 'SET', newer, '\u0003something')
    const { results, fates } = await run([take(newer, 1, [bucket('a')]), take(known, 1, [bucket('a')])])
    expect(results).toMatchObject([undefined, { granted: 1 }])
    expect(fates).toEqual(['refused', undefined])
  })

  test('where each key is asked by itself, what a call did not come to has not run either', async () => {
    const [newer, known] = [randomKey(), randomKey()]
    redisCli(redis.port, 'SET', newer, '\u0003something')
    const full = Array.from({ length: 128 }, (_, index) => bucket(`b${index}`))
    const takes = Array.from({ length: 20 }, () => take(known, 1, full))
    const { results, fates } = await run([take(newer, 1, [bucket('a')]), ...takes])
    const ran = results.filter((result) => result !== undefined).length
    expect(ran).toBeGreaterThan(0)
    expect(fates).toEqual(['refused', ...takes.map((_, index) => (index < ran ? undefined : 'not_run'))])
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
