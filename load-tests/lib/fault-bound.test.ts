import { expect, test } from 'vitest'
import { lostWrites, sharedOutage } from './fault-bound.ts'

const rule = { capacityTokens: 200, refillTokens: 5, periodS: 1 }

test('an outage may add 12 % of a bucket, and withhold 5 % of what it admits', () => {
  expect(sharedOutage({ rule, durationS: 60, limiters: 3 })).toMatchObject({ overTokens: 24, underTokens: 25 })
})

test('of a bucket with fewer tokens than limiters each may admit one', () => {
  const tiny = { capacityTokens: 5, refillTokens: 1, periodS: 1 }
  expect(sharedOutage({ rule: tiny, durationS: 60, limiters: 20 }).overTokens).toBe(20)
})

test('a failover may add the lost writes to that: a tenth of a bucket, or four times the root of the limiters', () => {
  expect(lostWrites({ rule, durationS: 60, limiters: 3 }).overTokens).toBe(20 + 24)
  expect(lostWrites({ rule, durationS: 60, limiters: 100 }).overTokens).toBe(40 + 100)
})
