import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import type { Rule } from '../../bucket/rule.ts'
import { systemTimers } from '../../seams/timers.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import { createConnection, type RedisConnection } from './connect.ts'
import { createConservationCheck, type Violation } from './conservation.ts'
import { nonAtomic } from './non-atomic.fixture.ts'
import { noCredentials } from './open-store.fixture.ts'
import { type RedisNode, redisCli, startRedis } from './redis-server.fixture.ts'
import { createRunScript } from './run-script.ts'
import { parseRedisAddress } from './store-address.ts'
import { ruleHash, type ScriptOperation, takeScript } from './take-script.ts'

const patience = { retryMs: 2_000, timers: systemTimers, monotonicUs: () => Math.floor(performance.now() * 1000) }
const SLOW: Rule = { capacityTokens: 1_000_000, refillTokens: 1, periodS: 3_600 }

const FULL_CHARGE = 'bucket.deficit + tokens * NANO'
const forgetful = takeScript.replace(FULL_CHARGE, `${FULL_CHARGE} / 2`)

let redis: RedisNode
let connection: RedisConnection
/** The store's, which may be set, and the limiters' own. */
const clock = { nowUs: 1_700_000_000_000_000, monotonicUs: 0 }

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

/** A limiter that asks the script, and what its check has found. */
const openLimiter = (through = connection) => {
  const violations: Violation[] = []
  const check = createConservationCheck(
    (violation) => violations.push(violation),
    () => clock.monotonicUs,
  )
  const script = createRunScript({ connection: through, stateFormat: 2, ...patience, nowUs: () => clock.nowUs })
  const run = async (operation: ScriptOperation) => check([operation], await script([operation]))
  return { run, violations }
}

const operation = (key: string, rule: Rule, cost = 1, times = 1, kind: 'take' | 'reset' = 'take'): ScriptOperation => ({
  kind,
  key: `weir:{0}:s:api:${key}`,
  cost,
  times,
  buckets: [{ ...bucketRef('' as GroupKey, 'policy' as BucketKey), rule, enforced: true } satisfies AskedBucket],
})

test('the script conserves, whatever two limiters ask in whatever order, through resets, changed rules and clocks set back', async () => {
  const anyStep = fc.record({
    limiter: fc.integer({ min: 0, max: 1 }),
    rule: fc.integer({ min: 0, max: 9 }),
    cost: fc.integer({ min: 0, max: 3 }),
    times: fc.integer({ min: 1, max: 4 }),
    reset: fc.integer({ min: 0, max: 19 }),
    elapsedUs: fc.oneof(fc.integer({ min: 0, max: 2_000_000 }), fc.integer({ min: -4_000_000, max: 0 })),
  })
  let compared = 0
  await fc.assert(
    fc.asyncProperty(anyRule, anyRule, fc.array(anyStep, { maxLength: 30 }), async (rule, other, steps) => {
      const limiters = [openLimiter(), openLimiter()]
      const key = randomUUID()
      for (const { limiter, elapsedUs, cost, times, ...step } of steps) {
        clock.nowUs += elapsedUs
        clock.monotonicUs += Math.max(0, elapsedUs)
        const numbers = step.rule === 0 ? other : rule
        if (cost > numbers.capacityTokens) continue
        const kind = step.reset === 0 ? 'reset' : 'take'
        await limiters[limiter]?.run(
          operation(key, numbers, kind === 'reset' ? 0 : cost, kind === 'reset' ? 1 : times, kind),
        )
        compared += 1
      }
      expect(limiters.flatMap(({ violations }) => violations)).toEqual([])
    }),
    { numRuns: 200 },
  )
  expect(compared).toBeGreaterThan(200)
}, 120_000)

test('a write that the store has lost is found with the next reply', async () => {
  const limiter = openLimiter()
  const key = randomUUID()
  await limiter.run(operation(key, SLOW, 5))
  redisCli(redis.port, 'DEL', `weir:{0}:s:api:${key}`)
  await limiter.run(operation(key, SLOW))
  await limiter.run(operation(key, SLOW))
  expect(limiter.violations).toEqual(['lost'])
})

test('what another limiter testified to after a loss is no violation', async () => {
  const fast: Rule = { capacityTokens: 100, refillTokens: 100, periodS: 10 }
  const [limiter, other] = [openLimiter(), openLimiter()]
  const key = randomUUID()
  await limiter.run(operation(key, fast, 3))
  for (let take = 0; take < 20; take += 1) {
    clock.nowUs += 100_000
    clock.monotonicUs += 100_000
    await other.run(operation(key, fast, 3))
  }
  const [bucket] = operation(key, fast).buckets
  if (bucket === undefined) throw new Error('no bucket')
  redisCli(redis.port, 'DEL', `weir:{0}:s:api:${key}`)
  await limiter.run(operation(key, fast, 3))
  const seen = {
    bucket: { deficitNano: 43e9, atUs: clock.nowUs },
    epoch: 0,
    grantedTokens: 63,
    ruleHash: ruleHash(fast),
  }
  const testimonies = [{ ...seen, leastElapsedUs: 0, mostElapsedUs: 0 }]
  await openLimiter().run({ ...operation(key, fast, 0), testimonies })
  limiter.violations.length = 0
  await limiter.run(operation(key, fast))
  expect(limiter.violations).toEqual([])
})

test('grants that no deficit accounts for are found with the next reply', async () => {
  const limiter = openLimiter()
  const generous: RedisConnection = {
    ...connection,
    // Another limiter whose script forgets to charge half of what it grants.
    callOver: (command, ...args) =>
      connection.callOver(
        command === 'EVALSHA' ? 'EVAL' : command,
        ...(command === 'EVALSHA' ? [forgetful, ...args.slice(1)] : args),
      ),
  }
  const other = openLimiter(generous)
  const key = randomUUID()
  await limiter.run(operation(key, SLOW))
  await other.run(operation(key, SLOW, 4))
  await limiter.run(operation(key, SLOW))
  expect(limiter.violations).toEqual(['granted'])
})

test('a script that is not atomic is found by limiters that race', async () => {
  const limiters = [openLimiter(nonAtomic(connection)), openLimiter(nonAtomic(connection))]
  const key = randomUUID()
  const race = async ({ run }: ReturnType<typeof openLimiter>) => {
    for (let take = 0; take < 50; take += 1) {
      await run(operation(key, SLOW, 1 + (take % 3)))
      // Else they go in step, and each finds what it left.
      if (Math.random() < 0.5) await connection.call('PING')
    }
  }
  await Promise.all(limiters.map(race))
  expect(limiters.flatMap(({ violations }) => violations)).toContain('lost')
})
