import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ExactBucket, exactCharge, exactHolds, exactMissingNano, exactRefill } from './bucket.oracle.ts'
import { type Bucket, charge, holds, refill, tokensLeft, untilFullUs, untilHoldsUs } from './bucket.ts'
import { anyRule } from './rule.arbitrary.ts'
import type { Rule } from './rule.ts'

const NANO = 1_000_000_000
const THIRTY_DAYS_US = 30 * 24 * 3_600 * 1_000_000

const anyDeficitNano = (rule: Rule) =>
  fc.double({ min: 0, max: 1, noNaN: true }).map((part) => Math.floor(part * rule.capacityTokens * NANO))
const anyElapsedUs = fc.oneof(
  fc.integer({ min: 0, max: 10 }),
  fc.integer({ min: 0, max: 10_000_000 }),
  fc.integer({ min: 0, max: THIRTY_DAYS_US * 2 }),
)
const ruleAndDeficit = anyRule.chain((rule) => fc.tuple(fc.constant(rule), anyDeficitNano(rule)))

describe('refill', () => {
  test('brings exactly ⌊1000·N·e ÷ P⌋ nano-tokens, over the whole range of rules', () => {
    fc.assert(
      fc.property(ruleAndDeficit, anyElapsedUs, ([rule, deficitNano], elapsedUs) => {
        const refilled = (1000n * BigInt(rule.refillTokens) * BigInt(elapsedUs)) / BigInt(rule.periodS)
        const expected = refilled >= BigInt(deficitNano) ? 0n : BigInt(deficitNano) - refilled
        const bucket = refill({ deficitNano, atUs: 1_700_000_000_000_000 }, rule, 1_700_000_000_000_000 + elapsedUs)
        expect(BigInt(bucket.deficitNano)).toBe(expected)
      }),
      { numRuns: 20_000 },
    )
  })

  test('stands still while the clock is a little behind, and follows a clock that was set back', () => {
    const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
    const bucket: Bucket = { deficitNano: 5 * NANO, atUs: 10_000_000 }
    expect(refill(bucket, rule, 8_000_000)).toEqual({ deficitNano: 5 * NANO, atUs: 10_000_000 })
    expect(refill(bucket, rule, 7_999_999)).toEqual({ deficitNano: 5 * NANO, atUs: 7_999_999 })
  })

  test('leaves an empty bucket, not a debt, when the capacity was lowered', () => {
    const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
    expect(refill({ deficitNano: 500 * NANO, atUs: 0 }, rule, 0).deficitNano).toBe(10 * NANO)
  })
})

type Step = { readonly elapsedUs: number; readonly cost: number }
const anySteps = (rule: Rule) =>
  fc.array(
    fc.record({
      elapsedUs: fc.oneof(fc.constant(0), anyElapsedUs),
      cost: fc.oneof(fc.constant(1), fc.integer({ min: 0, max: Math.min(rule.capacityTokens, 1_000) })),
    }),
    { maxLength: 60 },
  )

describe('a sequence of takes', () => {
  test('never grants what exact rational arithmetic refuses, and falls behind it by less than a nano-token a grant', () => {
    const ruleAndSteps = anyRule.chain((rule) => fc.tuple(fc.constant(rule), anySteps(rule)))
    fc.assert(
      fc.property(ruleAndSteps, ([rule, steps]) => {
        let bucket: Bucket | undefined
        let exact: ExactBucket | undefined
        let nowUs = 1_700_000_000_000_000
        let grants = 0n
        for (const { elapsedUs, cost } of steps as readonly Step[]) {
          nowUs += elapsedUs
          const now = refill(bucket, rule, nowUs)
          exact = exactRefill(exact, rule, nowUs)
          const lagNano = BigInt(now.deficitNano) - exactMissingNano(exact, rule)
          expect(lagNano >= 0n && lagNano <= grants).toBe(true)
          if (!holds(now, rule, cost)) continue
          expect(exactHolds(exact, rule, cost)).toBe(true)
          bucket = charge(now, cost)
          exact = exactCharge(exact, rule, cost)
          grants += 1n
        }
      }),
      { numRuns: 5_000 },
    )
  })
})

describe('the wait that a bucket announces', () => {
  test('is the least time after which the bucket holds the cost', () => {
    const ruleDeficitCost = anyRule.chain((rule) =>
      fc.tuple(fc.constant(rule), anyDeficitNano(rule), fc.integer({ min: 1, max: rule.capacityTokens })),
    )
    fc.assert(
      fc.property(ruleDeficitCost, ([rule, deficitNano, cost]) => {
        const bucket = { deficitNano, atUs: 0 }
        const waitUs = untilHoldsUs(bucket, rule, cost)
        expect(holds(refill(bucket, rule, waitUs), rule, cost)).toBe(true)
        if (waitUs > 0) expect(holds(refill(bucket, rule, waitUs - 1), rule, cost)).toBe(false)
      }),
      { numRuns: 10_000 },
    )
  })

  test('until full is the least time after which nothing is missing', () => {
    fc.assert(
      fc.property(ruleAndDeficit, ([rule, deficitNano]) => {
        const bucket = { deficitNano, atUs: 0 }
        const waitUs = untilFullUs(bucket, rule)
        expect(refill(bucket, rule, waitUs).deficitNano).toBe(0)
        if (waitUs > 0) expect(refill(bucket, rule, waitUs - 1).deficitNano).toBeGreaterThan(0)
      }),
      { numRuns: 10_000 },
    )
  })
})

test('the tokens left are whole, and one short of what was not yet refilled', () => {
  const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
  expect(tokensLeft({ deficitNano: 0, atUs: 0 }, rule)).toBe(10)
  expect(tokensLeft({ deficitNano: 1, atUs: 0 }, rule)).toBe(9)
  expect(tokensLeft({ deficitNano: 10 * NANO, atUs: 0 }, rule)).toBe(0)
})
