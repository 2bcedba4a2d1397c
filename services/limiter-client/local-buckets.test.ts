import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type Bucket, charge, holds, refill, tokensLeft, untilFullUs } from '../bucket/bucket.ts'
import { anyRule } from '../bucket/rule.arbitrary.ts'
import type { Rule } from '../bucket/rule.ts'
import { type Check, domainName } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import { createLocalBuckets } from './local-buckets.ts'

const configured: Rule = { capacityTokens: 50, refillTokens: 10, periodS: 1 }

const check = (attributes: Readonly<Record<string, string>>, cost = 1): Check => ({
  domain: domainName('api'),
  attributes: new Map(Object.entries(attributes)),
  cost,
})
const ada = check({ client: 'user:ada', route: 'GET /v1/orders' })

const openBuckets = ({ rule = configured, maxClients = 1_000 } = {}) => {
  let nowUs = 0
  const buckets = createLocalBuckets({ rule, maxClients, monotonicClock: { monotonicUs: () => nowUs } })
  return {
    ...buckets,
    pass: (us: number) => {
      nowUs += us
    },
    /** How many of the checks are allowed, one after the other, at once. */
    allowed: (one: Check, tries: number) =>
      Array.from({ length: tries }, () => buckets.decide(one)).filter(({ verdict }) => verdict === 'allow').length,
  }
}

const reported = (
  { capacityTokens, refillTokens, periodS }: Rule,
  { policy = 'per-client', basis = 'bucket' as 'bucket' | 'share' } = {},
): Decision => ({
  verdict: 'allow',
  basis,
  policy: policyName(policy),
  quota: { limit: capacityTokens, remaining: 0, resetAfterMs: 0, refillTokens, refillPeriodMs: periodS * 1_000 },
})

test('a client that nobody has seen gets the configured numbers, and a real quota', () => {
  const { decide, allowed } = openBuckets()
  expect(decide(ada)).toEqual({
    verdict: 'allow',
    basis: 'share',
    policy: 'local-fallback',
    quota: { limit: 50, remaining: 49, resetAfterMs: 100, refillTokens: 10, refillPeriodMs: 1_000 },
  })
  expect(allowed(ada, 100)).toBe(49)
  expect(decide(ada)).toEqual({
    verdict: 'deny',
    basis: 'share',
    policy: 'local-fallback',
    quota: { limit: 50, remaining: 0, resetAfterMs: 5_000, refillTokens: 10, refillPeriodMs: 1_000 },
    retryAfterMs: 100,
  })
})

test('each client has its own bucket, on whatever route', () => {
  const { allowed } = openBuckets()
  expect(allowed(ada, 30)).toBe(30)
  expect(allowed(check({ client: 'user:ada', route: 'POST /v1/orders' }), 30)).toBe(20)
  expect(allowed(check({ client: 'user:bob', route: 'GET /v1/orders' }), 60)).toBe(50)
})

test('without the attribute client, all attributes together name the client, and none can be made to look like others', () => {
  const { allowed } = openBuckets()
  expect(allowed(check({ tenant: 'a', zone: 'b' }), 60)).toBe(50)
  expect(allowed(check({ tenant: 'a', zone: 'b' }), 60)).toBe(0)
  for (const other of [{ tenant: 'a' }, { tenant: 'a4:zone1:b' }, { tenant: 'azone', b: '' }, { client: 'a' }, {}])
    expect(allowed(check(other as Record<string, string>), 60)).toBe(50)
})

test('whoever keeps to the numbers that the limiter reported is never refused, whichever requests are decided here', () => {
  const anyFlow = fc.record({
    rule: anyRule,
    requests: fc.array(
      fc.record({
        gapParts: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 2, noNaN: true })),
        costPart: fc.oneof(fc.constant(0.001), fc.double({ min: 0, max: 1, noNaN: true })),
        here: fc.boolean(),
      }),
      { minLength: 1, maxLength: 80 },
    ),
  })
  let decided = 0
  fc.assert(
    fc.property(anyFlow, ({ rule, requests }) => {
      const { learn, decide, pass } = openBuckets()
      learn(ada, reported(rule))
      let nowUs = 0
      let bucket: Bucket | undefined
      for (const { gapParts, costPart, here } of requests) {
        const gapUs = Math.floor((gapParts * rule.periodS * 1_000_000) / rule.refillTokens)
        nowUs += gapUs
        pass(gapUs)
        const cost = Math.ceil(costPart * Math.min(rule.capacityTokens, 1_000))
        const before = refill(bucket, rule, nowUs)
        if (!holds(before, rule, cost)) continue
        bucket = charge(before, cost)
        if (!here) {
          const after = charge(before, cost)
          const resetAfterMs = Math.ceil(untilFullUs(after, rule) / 1000)
          learn(ada, {
            verdict: 'allow',
            basis: 'bucket',
            policy: policyName('per-client'),
            quota: {
              limit: rule.capacityTokens,
              remaining: tokensLeft(after, rule),
              resetAfterMs,
              refillTokens: rule.refillTokens,
              refillPeriodMs: rule.periodS * 1_000,
            },
          })
          continue
        }
        decided += 1
        expect(decide({ ...ada, cost }).verdict).toBe('allow')
      }
    }),
    { numRuns: 2_000 },
  )
  expect(decided).toBeGreaterThan(5_000)
})

test('over any time no client gets more than a capacity and the refill', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2_000_000 }), { maxLength: 200 }), (gapsUs) => {
      const { decide, pass } = openBuckets({ rule: { capacityTokens: 5, refillTokens: 3, periodS: 2 } })
      let elapsedUs = 0
      let admitted = 0
      for (const gapUs of gapsUs) {
        pass(gapUs)
        elapsedUs += gapUs
        admitted += decide(ada).verdict === 'allow' ? 1 : 0
      }
      expect(admitted).toBeLessThanOrEqual(5 + (3 * elapsedUs) / 2_000_000)
    }),
  )
})

test('a client that waits for as long as it is told is admitted', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 50 }), fc.nat({ max: 10_000_000 }), (cost, gapUs) => {
      const { decide, pass, allowed } = openBuckets()
      allowed(ada, 50)
      pass(gapUs)
      const decision = decide({ ...ada, cost })
      if (decision.verdict === 'allow' || !('retryAfterMs' in decision)) return
      pass(decision.retryAfterMs * 1_000)
      expect(decide({ ...ada, cost }).verdict).toBe('allow')
    }),
  )
})

test('the reported numbers hold also where they are smaller than the configured ones', () => {
  const { learn, allowed } = openBuckets()
  learn(ada, reported({ capacityTokens: 3, refillTokens: 1, periodS: 60 }))
  expect(allowed(ada, 100)).toBe(3)
})

/** 20 tokens, 2 a second, so many of them left. */
const with20 = (remaining: number, policy = 'per-client'): Decision => ({
  verdict: 'allow',
  basis: 'bucket',
  policy: policyName(policy),
  quota: { limit: 20, remaining, resetAfterMs: (20 - remaining) * 500, refillTokens: 2, refillPeriodMs: 1_000 },
})

test('a client has here what the limiter said that it has, and no more: an outage is nothing to provoke', () => {
  const { learn, allowed, pass } = openBuckets()
  learn(ada, with20(5))
  expect(allowed(ada, 100)).toBe(5)
  pass(3_000_000)
  expect(allowed(ada, 100)).toBe(6)
  for (let round = 0; round < 10; round += 1) {
    learn(ada, with20(0))
    expect(allowed(ada, 100)).toBe(0)
  }
})

test('of several policies the fullest says what is missing: the others may not match the request', () => {
  const { learn, allowed } = openBuckets()
  learn(ada, with20(0, 'writes'))
  learn(ada, with20(12, 'reads'))
  expect(allowed(ada, 100)).toBe(12)
})

test('a reported refill that is faster than the configured one holds', () => {
  const { learn, allowed, pass } = openBuckets()
  learn(ada, reported({ capacityTokens: 50, refillTokens: 40, periodS: 1 }))
  expect(allowed(ada, 100)).toBe(50)
  pass(1_000_000)
  expect(allowed(ada, 100)).toBe(40)
})

test('a report about one policy does not hide that another one is larger', () => {
  const { learn, allowed } = openBuckets()
  learn(ada, reported({ capacityTokens: 600, refillTokens: 50, periodS: 1 }))
  for (let time = 0; time < 20; time += 1)
    learn(ada, reported({ capacityTokens: 70, refillTokens: 10, periodS: 1 }, { policy: 'writes' }))
  expect(allowed(ada, 1_000)).toBe(600)
})

test('a policy that was lowered counts as it is now', () => {
  const { learn, allowed } = openBuckets()
  learn(ada, reported({ capacityTokens: 600, refillTokens: 50, periodS: 1 }))
  learn(ada, reported({ capacityTokens: 60, refillTokens: 5, periodS: 1 }))
  expect(allowed(ada, 1_000)).toBe(60)
})

test('the share of a limiter whose store is away does not shrink what the bucket was known to hold', () => {
  const { learn, allowed } = openBuckets()
  learn(ada, reported({ capacityTokens: 600, refillTokens: 50, periodS: 1 }))
  learn(ada, reported({ capacityTokens: 300, refillTokens: 25, periodS: 1 }, { basis: 'share' }))
  expect(allowed(ada, 1_000)).toBe(600)
})

test('a question that the limiter does not limit is not limited here either, until the limiter counts it again', () => {
  const { learn, allowed, decide } = openBuckets()
  learn(ada, { verdict: 'allow', basis: 'exempt' })
  expect(allowed(ada, 200)).toBe(200)
  expect(decide(ada)).toEqual({ verdict: 'allow', basis: 'exempt' })
  expect(allowed(check({ client: 'user:ada', route: 'POST /v1/orders' }), 200)).toBe(50)
  learn(ada, reported(configured))
  expect(allowed(ada, 200)).toBe(0)
})

test('a cost over the capacity is served by a full bucket, which it empties', () => {
  const { decide, pass } = openBuckets()
  expect(decide({ ...ada, cost: 4_000_000_000 })).toMatchObject({ verdict: 'allow', quota: { remaining: 0 } })
  expect(decide({ ...ada, cost: 80 })).toMatchObject({ verdict: 'deny', retryAfterMs: 5_000 })
  pass(5_000_000)
  expect(decide({ ...ada, cost: 80 })).toMatchObject({ verdict: 'allow' })
})

test('a peek charges nothing', () => {
  const { decide, allowed } = openBuckets()
  for (let time = 0; time < 100; time += 1) expect(decide({ ...ada, cost: 0 })).toMatchObject({ verdict: 'allow' })
  expect(allowed(ada, 100)).toBe(50)
  expect(decide({ ...ada, cost: 0 })).toMatchObject({ verdict: 'allow', quota: { remaining: 0 } })
})

test('numbers that no bucket can have are not believed', () => {
  const { learn, allowed } = openBuckets()
  for (const [limit, refillTokens, refillPeriodMs] of [
    [9e15, 1, 1_000],
    [600, 0, 1_000],
    [600, 50, 0],
    [600, 9e15, 1],
  ] as const) {
    const counted = { limit, refillTokens, refillPeriodMs, remaining: 0, resetAfterMs: 0 }
    learn(ada, { verdict: 'allow', basis: 'bucket', policy: policyName('odd'), quota: counted })
  }
  expect(allowed(ada, 1_000)).toBe(50)
})

test('memory is bounded: the clients not seen for longest are forgotten', () => {
  const { learn, allowed } = openBuckets({ maxClients: 100 })
  const client = (index: number) => check({ client: `user:${index}` })
  for (let index = 0; index < 150; index += 1)
    learn(client(index), reported({ capacityTokens: 600, refillTokens: 50, periodS: 1 }))
  expect(allowed(client(149), 1_000)).toBe(600)
  expect(allowed(client(50), 1_000)).toBe(600)
  expect(allowed(client(49), 1_000)).toBe(50)
})
