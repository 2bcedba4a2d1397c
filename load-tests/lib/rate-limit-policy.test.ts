import fc from 'fast-check'
import { expect, test } from 'vitest'
import { policyName } from '../../services/contract/decision.ts'
import { rateLimitHeaders } from '../../services/limiter-client/fastify/headers.ts'
import { announcedQuota, refillPerS } from './rate-limit-policy.ts'

/** As k6 has names: in canonical case. */
const canonical = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name.replace(/(^|-)([a-z])/g, (_, before: string, letter: string) => before + letter.toUpperCase()),
      value,
    ]),
  )

test('what the gate writes of a quota is read back: capacity, refill and what is left', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 4_500_000 }),
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 1000 }),
      (limit, refillTokens, periodS) => {
        const remaining = Math.floor(limit / 2)
        const quota = { limit, remaining, resetAfterMs: 1500, refillTokens, refillPeriodMs: periodS * 1000 }
        const headers = rateLimitHeaders({ verdict: 'allow', basis: 'bucket', policy: policyName('a "b"'), quota })
        const announced = announcedQuota(canonical(headers))
        expect(announced).toMatchObject({ remaining, rule: { capacityTokens: limit } })
        expect(announced === undefined ? 0 : refillPerS(announced.rule)).toBeCloseTo(refillTokens / periodS, 9)
      },
    ),
  )
})

test('where the refill is not said, the window is the time in which an empty bucket fills', () => {
  const announced = announcedQuota({ 'Ratelimit-Policy': '"free";q=60;w=12', 'Ratelimit-Remaining': '59' })
  expect(announced).toEqual({
    policy: 'free',
    remaining: 59,
    rule: { capacityTokens: 60, refillTokens: 60, periodS: 12 },
  })
})

test('a period of parts of a second becomes one of whole seconds', () => {
  const header = '"fast";q=10;w=1;refill=1;period=0.2'
  const announced = announcedQuota({ 'Ratelimit-Policy': header, 'Ratelimit-Remaining': '9' })
  expect(announced?.rule).toEqual({ capacityTokens: 10, refillTokens: 1000, periodS: 200 })
})

test.each([
  ['nothing', {}],
  ['no policy', { 'Ratelimit-Remaining': '9' }],
  ['no rest', { 'Ratelimit-Policy': '"free";q=60;w=12' }],
  ['no capacity', { 'Ratelimit-Policy': '"free";w=12', 'Ratelimit-Remaining': '9' }],
  ['a rest that is no number', { 'Ratelimit-Policy': '"free";q=60;w=12', 'Ratelimit-Remaining': '-1' }],
])('a response with %s says of no quota', (_, headers) => {
  expect(announcedQuota(headers)).toBeUndefined()
})
