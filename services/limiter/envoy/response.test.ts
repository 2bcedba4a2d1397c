import { expect, test } from 'vitest'
import { type Decision, policyName, type Quota } from '../../contract/decision.ts'
import { encodeResponse } from './response.ts'

const quota = (changes: Partial<Quota> = {}): Quota => ({
  limit: 60,
  remaining: 12,
  resetAfterMs: 9_600,
  refillTokens: 5,
  refillPeriodMs: 1_000,
  ...changes,
})
const allow = (changes?: Partial<Quota>): Decision => ({
  verdict: 'allow',
  basis: 'bucket',
  policy: policyName('free'),
  quota: quota(changes),
})
const deny = (retryAfterMs: number): Decision => ({
  verdict: 'deny',
  basis: 'bucket',
  policy: policyName('free'),
  quota: quota({ remaining: 0, resetAfterMs: 12_000 }),
  retryAfterMs,
})
const encode = (decisions: readonly Decision[], mode: 'refusals' | 'always' | 'never' = 'refusals') => {
  const { rawBody, responseHeadersToAdd, ...rest } = encodeResponse(
    decisions.map((decision) => ({ decision, shadows: [] })),
    mode,
  )
  return {
    ...rest,
    body: rawBody?.toString(),
    headers: Object.fromEntries((responseHeadersToAdd ?? []).map(({ key, value }) => [key, value])),
  }
}

test('a status tells the capacity, the unit in which it fills, what is left and when it is full', () => {
  expect(encode([allow()])).toEqual({
    overallCode: 'OK',
    statuses: [
      {
        code: 'OK',
        currentLimit: { name: 'free', requestsPerUnit: 60, unit: 'MINUTE' },
        limitRemaining: 12,
        durationUntilReset: { seconds: 10 },
      },
    ],
    headers: {},
  })
})

test('one descriptor over its limit is a request over its limit, and the others keep their status', () => {
  const encoded = encode([allow(), deny(1_001), { verdict: 'allow', basis: 'no_policy' }])
  expect(encoded.overallCode).toBe('OVER_LIMIT')
  expect(encoded.statuses?.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT', 'OK'])
})

test('a refused client is told the longest wait, in headers and in the body', () => {
  const { headers, body } = encode([deny(1_001), deny(200)])
  expect(headers).toEqual({
    'ratelimit-limit': '60',
    'ratelimit-remaining': '0',
    'ratelimit-reset': '12',
    'retry-after': '2',
    'content-type': 'application/json',
  })
  expect(body).toBe('{"error":"Rate limit exceeded: retry after 2 seconds."}')
})

test('no time to come back is told where one of the limits lets nobody pass', () => {
  const { headers, body } = encode([
    deny(200),
    { verdict: 'deny', basis: 'never_satisfiable', policy: policyName('ban') },
  ])
  expect(headers).toEqual({ 'content-type': 'application/json' })
  expect(body).toBe('{"error":"No such request passes this limit."}')
})

test('a refusal because nobody could count says so', () => {
  const { overallCode, body } = encode([{ verdict: 'deny', basis: 'store_unavailable', policy: policyName('login') }])
  expect(overallCode).toBe('OVER_LIMIT')
  expect(body).toBe('{"error":"The limit cannot be counted now, and nobody passes without it."}')
})

test('headers of passes, for who wants them, are those of the bucket with the least left; never is never', () => {
  expect(encode([allow(), allow({ limit: 100, remaining: 5 })], 'always').headers).toMatchObject({
    'ratelimit-limit': '100',
    'ratelimit-remaining': '5',
  })
  expect(encode([{ verdict: 'allow', basis: 'exempt' }], 'always').headers).toEqual({})
  expect(encode([deny(200)], 'never')).toMatchObject({ overallCode: 'OVER_LIMIT', headers: {}, body: undefined })
})

test('an exempt descriptor has all that a number can hold left', () => {
  expect(encode([{ verdict: 'allow', basis: 'exempt' }]).statuses).toEqual([{ code: 'OK', limitRemaining: 4294967295 }])
})
