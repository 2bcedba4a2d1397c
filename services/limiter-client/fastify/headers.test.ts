import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import { anyDecision } from '../../contract/decision.arbitrary.ts'
import { type Decision, policyName } from '../../contract/decision.ts'
import { type Headers, limitExceededBody, rateLimitHeaders, retryAfterS } from './headers.ts'

const perClient = policyName('per-client')
const quota = { limit: 60, remaining: 12, resetAfterMs: 9_600, refillTokens: 5, refillPeriodMs: 1_000 }

test('a pass tells the quota of its policy', () => {
  expect(rateLimitHeaders({ verdict: 'allow', basis: 'bucket', policy: perClient, quota })).toEqual({
    'ratelimit-limit': '60',
    'ratelimit-remaining': '12',
    'ratelimit-reset': '10',
    ratelimit: '"per-client";r=12;t=1',
    'ratelimit-policy': '"per-client";q=60;w=12;refill=5;period=1',
  })
})

test('a refusal has nothing left, and says when to come back', () => {
  const decision: Decision = { verdict: 'deny', basis: 'share', policy: perClient, quota, retryAfterMs: 1_001 }
  expect(rateLimitHeaders(decision)).toEqual({
    'ratelimit-limit': '60',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '10',
    ratelimit: '"per-client";r=0;t=2',
    'ratelimit-policy': '"per-client";q=60;w=12;refill=5;period=1',
    'retry-after': '2',
  })
})

test.each([
  [0, 1],
  [1, 1],
  [1_000, 1],
  [1_001, 2],
  [59_999, 60],
])('a wait of %i ms is announced as %i s', (ms, s) => {
  expect(retryAfterS(ms)).toBe(s)
})

test('the body of a 429 is one key with a text that holds the wait', () => {
  expect(JSON.parse(limitExceededBody(17))).toEqual({ error: expect.stringMatching(/exceeded.*\b17 seconds/) })
})

test.each([
  { verdict: 'allow', basis: 'no_policy' },
  { verdict: 'allow', basis: 'exempt' },
  { verdict: 'allow', basis: 'store_unavailable', policy: perClient },
  { verdict: 'deny', basis: 'store_unavailable', policy: perClient },
  { verdict: 'deny', basis: 'never_satisfiable', policy: perClient },
] as const)('$verdict by $basis claims no quota, because nobody counted', (decision) => {
  expect(rateLimitHeaders(decision)).toEqual({})
})

test('t is the time until the next token: within it a client can use no more than what remains', () => {
  const slow = { limit: 10, remaining: 3, resetAfterMs: 32_500, refillTokens: 1, refillPeriodMs: 5_000 }
  const decision: Decision = { verdict: 'allow', basis: 'bucket', policy: perClient, quota: slow }
  expect(rateLimitHeaders(decision)['ratelimit']).toBe('"per-client";r=3;t=3')
})

/** The parameters of a structured field's only member; it fails where RFC 9651 would. */
const parseField = (field: string | undefined) => {
  const match = /^"((?:[ !#-[\]-~]|\\["\\])*)"((?:;[a-z]+=\d{1,15}(?:\.\d{1,3})?)*)$/.exec(field ?? '')
  if (match === null) throw new Error(`not a structured field: ${field}`)
  const parameters = (match[2] ?? '').split(';').slice(1)
  return Object.fromEntries(parameters.map((one) => one.split('='))) as Headers
}

const wholeNumber = (text: string | undefined) => {
  expect(text).toMatch(/^\d{1,15}$/)
  return Number(text)
}

test('of any decision whatever, the headers are whole numbers that agree with each other', () => {
  fc.assert(
    fc.property(anyDecision, (decision) => {
      const headers = rateLimitHeaders(decision)
      if (decision.basis !== 'bucket' && decision.basis !== 'share') {
        expect(headers).toEqual({})
        return
      }
      const limit = wholeNumber(headers['ratelimit-limit'])
      const remaining = wholeNumber(headers['ratelimit-remaining'])
      const reset = wholeNumber(headers['ratelimit-reset'])
      expect(remaining).toBeLessThanOrEqual(limit)

      const { r, t } = parseField(headers['ratelimit'])
      expect(wholeNumber(r)).toBe(remaining)
      const { q, w } = parseField(headers['ratelimit-policy'])
      expect(wholeNumber(q)).toBe(limit)
      if (w !== undefined) expect(wholeNumber(w)).toBeGreaterThan(0)

      if (decision.verdict === 'allow') {
        expect(headers['retry-after']).toBeUndefined()
        return
      }
      const retryAfter = wholeNumber(headers['retry-after'])
      expect(remaining).toBe(0)
      expect(retryAfter).toBeGreaterThan(0)
      expect(retryAfter).toBeLessThanOrEqual(reset)
      expect(wholeNumber(t)).toBe(retryAfter)
      expect(JSON.parse(limitExceededBody(retryAfter)).error).toContain(String(retryAfter))
    }),
    { numRuns: 5_000 },
  )
})

test('capacity and refill of any rule can be read back from RateLimit-Policy exactly', () => {
  fc.assert(
    fc.property(anyRule, ({ capacityTokens, refillTokens, periodS }) => {
      const decision: Decision = {
        verdict: 'allow',
        basis: 'bucket',
        policy: perClient,
        quota: {
          limit: capacityTokens,
          remaining: 0,
          resetAfterMs: 0,
          refillTokens,
          refillPeriodMs: periodS * 1_000,
        },
      }
      const { q, w, refill, period } = parseField(rateLimitHeaders(decision)['ratelimit-policy'])
      expect([q, refill, period].map(Number)).toEqual([capacityTokens, refillTokens, periodS])
      expect(Number(w)).toBe(Math.ceil((capacityTokens * periodS) / refillTokens))
    }),
  )
})
