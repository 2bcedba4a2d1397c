import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyRule } from '../bucket/rule.arbitrary.ts'
import type { Rule } from '../bucket/rule.ts'
import { type Call, type History, withOpenEnds } from './history.ts'
import { excessNanoByBruteForce, unexplainedByBruteForce } from './judge.oracle.ts'
import { judge } from './judge.ts'
import { createBucket, type Demand, overloadDemand, record } from './recording.fixture.ts'
import { unexplainedRefusals } from './unexplained-refusals.ts'
import { worstWindow } from './worst-window.ts'

const faultless = { overTokens: 0, underTokens: 0 }

/** Fast enough for a microsecond to matter: up to a token in one. */
const anyFastRule: fc.Arbitrary<Rule> = fc.record({
  capacityTokens: fc.integer({ min: 1, max: 6 }),
  refillTokens: fc.constantFrom(100_000, 333_333, 500_000, 1_000_000),
  periodS: fc.constantFrom(1, 3, 7),
})

/** Calls that no bucket need have answered so, on a stretch short enough to look at every window. */
const anyHistory: fc.Arbitrary<History> = fc
  .record({
    rule: anyFastRule,
    originUs: fc.constantFrom(0, 1_700_000_000_000_000),
    calls: fc.array(
      fc.record({
        invokeUs: fc.nat({ max: 24 }),
        durationUs: fc.nat({ max: 6 }),
        cost: fc.nat({ max: 3 }),
        verdict: fc.constantFrom('allow', 'allow', 'allow', 'deny', 'deny', 'unknown'),
      }),
      { minLength: 1, maxLength: 14 },
    ),
    faultBound: fc.record({ overTokens: fc.nat({ max: 2 }), underTokens: fc.nat({ max: 2 }) }),
  })
  .map(({ rule, originUs, calls, faultBound }) => ({
    rule,
    calls: calls.map(({ invokeUs, durationUs, cost, verdict }) => ({
      invokeUs: originUs + invokeUs,
      responseUs: originUs + invokeUs + durationUs,
      cost,
      verdict,
      decidedLocally: false,
    })),
    faultBound,
  }))

describe('every history is judged as by looking at every window', () => {
  test('the worst window, to the nano-token', () => {
    let overAdmitted = 0
    fc.assert(
      fc.property(anyHistory, (history) => {
        const worst = worstWindow(history)
        const excessNano = excessNanoByBruteForce(history)
        expect(worst?.excessTokens).toBe(excessNano === undefined ? undefined : Number(excessNano) / 1e9)
        if (worst === undefined) return
        if (worst.excessTokens > 0) overAdmitted += 1
        const within = history.calls.filter(
          ({ verdict, invokeUs, responseUs }) =>
            verdict === 'allow' && invokeUs >= worst.startUs && responseUs <= worst.endUs,
        )
        expect(worst.admittedTokens).toBe(within.reduce((sum, { cost }) => sum + cost, 0))
        const { capacityTokens, refillTokens, periodS } = history.rule
        const allowed = capacityTokens + ((worst.endUs - worst.startUs) * refillTokens) / periodS / 1e6
        expect(worst.excessTokens).toBeCloseTo(worst.admittedTokens - allowed, 6)
      }),
      { numRuns: 5_000 },
    )
    expect(overAdmitted).toBeGreaterThan(500)
  })

  test('the refusals that nothing explains', () => {
    let refusals = 0
    let found = 0
    fc.assert(
      fc.property(anyHistory, (history) => {
        const unexplained = unexplainedRefusals(history).map(({ call }) => call)
        expect(new Set(unexplained)).toEqual(unexplainedByBruteForce(history))
        refusals += history.calls.filter(({ verdict }) => verdict === 'deny').length
        found += unexplained.length
      }),
      { numRuns: 5_000 },
    )
    expect(found / refusals).toBeGreaterThan(0.1)
    expect(found / refusals).toBeLessThan(0.9)
  })
})

/** Gaps and delays from nothing to the time that the bucket needs to fill, for any rule; mostly more demand than refill. */
const anyDemand = ({ capacityTokens, refillTokens, periodS }: Rule): fc.Arbitrary<readonly Demand[]> => {
  const tokenUs = Math.ceil((periodS * 1e6) / refillTokens)
  const fillUs = capacityTokens * tokenUs
  const anyTimeUs = fc.oneof(
    { weight: 8, arbitrary: fc.constant(0) },
    { weight: 4, arbitrary: fc.nat({ max: tokenUs }) },
    { weight: 4, arbitrary: fc.nat({ max: Math.ceil(fillUs / 4) }) },
    { weight: 1, arbitrary: fc.nat({ max: 2 * fillUs }) },
  )
  const anyCost = fc.oneof(
    fc.constant(1),
    fc.nat({ max: capacityTokens }),
    fc.constantFrom(capacityTokens, capacityTokens + 1),
  )
  const anyFate = fc.oneof(
    { weight: 20, arbitrary: fc.constant('answered') },
    { weight: 1, arbitrary: fc.constantFrom('answer_lost', 'never_arrived') },
  )
  return fc
    .array(
      fc.record({
        gapUs: anyTimeUs,
        untilDecidedUs: anyTimeUs,
        untilAnsweredUs: anyTimeUs,
        cost: anyCost,
        fate: anyFate,
      }),
      { minLength: 10, maxLength: 60, size: 'max' },
    )
    .map((calls) => {
      let nowUs = 0
      return calls.map(({ gapUs, ...call }) => {
        nowUs += gapUs
        return { invokeUs: nowUs, ...call }
      })
    })
}

describe('a bucket that keeps the law is never accused', () => {
  test('of any rule and cost, with any delays and lost answers', () => {
    let refusals = 0
    let claims = 0
    fc.assert(
      fc.property(
        anyRule.chain((rule) => fc.tuple(fc.constant(rule), anyDemand(rule))),
        ([rule, demand]) => {
          const calls = record(demand, createBucket(rule).decide)
          const { lawful, worst, unexplained, totals } = judge({ rule, calls, faultBound: faultless })
          expect({ excess: Math.max(0, worst?.excessTokens ?? 0), unexplained, difference: totals.difference }).toEqual(
            {
              excess: 0,
              unexplained: { count: 0, first: [] },
              difference: 0,
            },
          )
          expect(lawful).toBe(true)
          refusals += calls.filter(({ verdict }) => verdict === 'deny').length
          if ((totals.lowerBound ?? 0) > 0) claims += 1
        },
      ),
      { numRuns: 5_000 },
    )
    expect(refusals).toBeGreaterThan(50_000)
    expect(claims).toBeGreaterThan(2_000)
  })

  test.each([
    { overload: 0.9, latencyUs: 5_000 },
    { overload: 3, latencyUs: 0 },
    { overload: 3, latencyUs: 20_000 },
    { overload: 20, latencyUs: 100_000 },
  ])('in 100 recordings of 1,000 calls, at $overload times the rate, each up to $latencyUs µs long', (load) => {
    for (let seed = 0; seed < 100; seed += 1) {
      const rule: Rule = { capacityTokens: 1 + (seed % 50), refillTokens: 1_000, periodS: 7 }
      const calls = record(overloadDemand({ rule, seed, calls: 1_000, ...load }), createBucket(rule).decide)
      expect(judge({ rule, calls, faultBound: faultless }).lawful, `seed ${seed}`).toBe(true)
    }
  })
})

describe('a token on the edge', () => {
  const rule: Rule = { capacityTokens: 2, refillTokens: 1, periodS: 3 }
  const call = (invokeUs: number, responseUs: number, verdict: Call['verdict']): Call => ({
    invokeUs,
    responseUs,
    cost: 1,
    verdict,
    decidedLocally: false,
  })
  const judged = (...calls: readonly Call[]) => judge({ rule, calls, faultBound: faultless })
  const drained = [call(0, 0, 'allow'), call(0, 0, 'allow')]

  test('is granted at the microsecond in which it is full, and not one earlier', () => {
    expect(judged(...drained, call(3_000_000, 3_000_000, 'allow')).worst?.excessTokens).toBe(0)
    expect(judged(...drained, call(2_999_999, 2_999_999, 'allow')).worst?.excessTokens).toBe(3.34e-7)
  })

  test('may be refused until then', () => {
    expect(judged(...drained, call(2_999_999, 2_999_999, 'deny')).lawful).toBe(true)
    expect(judged(...drained, call(3_000_001, 3_000_001, 'deny')).unexplained).toMatchObject({
      count: 1,
      first: [{ call: { invokeUs: 3_000_001 } }],
    })
  })

  test('may be refused for as long as the rounding of two grants takes to refill: two nano-tokens', () => {
    const slow: Rule = { capacityTokens: 2, refillTokens: 1, periodS: 2_000 }
    const refusedAt = (us: number) =>
      judge({ rule: slow, calls: [...drained, call(us, us, 'deny')], faultBound: faultless }).lawful
    expect(refusedAt(2_000_000_003)).toBe(true)
    expect(refusedAt(2_000_000_004)).toBe(false)
  })

  test('may be gone to a call that was never answered, which is not counted as admitted', () => {
    const asked = call(100, 200, 'deny')
    const lost = call(50, 200, 'unknown')
    expect(judged(call(0, 0, 'allow'), asked).lawful).toBe(false)
    expect(judged(call(0, 0, 'allow'), lost, asked)).toMatchObject({
      lawful: true,
      worst: { admittedTokens: 1 },
      totals: { admitted: 1, unanswered: 1 },
    })
  })
})

test('a call that its caller gave up may be charged later: only with an open end does that explain a refusal', () => {
  const rule: Rule = { capacityTokens: 1, refillTokens: 1, periodS: 1 }
  const bucket = createBucket(rule)
  // Sent at 0, given up at 0.1 s, and run by the store at 1 s, when the bucket was full: so at 1.5 s half a token is missing.
  const givenUp = { invokeUs: 0, responseUs: 100_000, cost: 1, verdict: 'unknown', decidedLocally: false } as const
  expect([1_000_000, 1_500_000].map((us) => bucket.decide(us, 1))).toEqual([true, false])
  const calls: readonly Call[] = [givenUp, { ...givenUp, invokeUs: 1_500_000, responseUs: 1_500_000, verdict: 'deny' }]
  expect(judge({ rule, calls, faultBound: faultless }).unexplained.count).toBe(1)
  expect(judge({ rule, calls: withOpenEnds(calls), faultBound: faultless }).lawful).toBe(true)
})

test('a refusal by a full bucket is not made good by what is granted afterwards', () => {
  const rule: Rule = { capacityTokens: 2, refillTokens: 1, periodS: 1 }
  const at = (us: number, verdict: Call['verdict']): Call => {
    return { invokeUs: us, responseUs: us, cost: 1, verdict, decidedLocally: false }
  }
  const calls = [at(0, 'deny'), at(10, 'allow'), at(10, 'allow')]
  expect(judge({ rule, calls, faultBound: faultless })).toMatchObject({
    lawful: false,
    unexplained: { count: 1 },
    totals: { difference: 0 },
  })
})

test('two refusals that only together cannot be are found by the lower bound', () => {
  const rule: Rule = { capacityTokens: 3, refillTokens: 100_000, periodS: 1 }
  const call = (invokeUs: number, responseUs: number, cost: number, verdict: Call['verdict']): Call => {
    return { invokeUs, responseUs, cost, verdict, decidedLocally: false }
  }
  // If the first refusal is right, the grant beside it was counted at 3 µs; if the last is right, after 10 µs.
  const calls = [call(1, 3, 2, 'deny'), call(3, 11, 2, 'allow'), call(13, 17, 1, 'allow'), call(20, 26, 1, 'deny')]
  expect(judge({ rule, calls, faultBound: faultless })).toMatchObject({
    lawful: false,
    unexplained: { count: 0 },
    totals: { admitted: 3, lowerBound: 4, difference: -1 },
  })
  expect(judge({ rule, calls: calls.slice(1), faultBound: faultless }).lawful).toBe(true)
  expect(judge({ rule, calls: calls.slice(0, 3), faultBound: faultless }).lawful).toBe(true)
})

describe('the bound of the faults', () => {
  const rule: Rule = { capacityTokens: 2, refillTokens: 1, periodS: 10 }
  const at = (us: number, verdict: Call['verdict']): Call => {
    return { invokeUs: us, responseUs: us, cost: 1, verdict, decidedLocally: false }
  }

  test('is as much as may be over, to the nano-token', () => {
    const calls = [at(0, 'allow'), at(0, 'allow'), at(1_000_000, 'allow')]
    const within = (overTokens: number) => judge({ rule, calls, faultBound: { overTokens, underTokens: 0 } }).lawful
    expect(within(0.9)).toBe(true)
    expect(within(0.899_999_999)).toBe(false)
  })

  test('is as much as may be under, to the nano-token', () => {
    const calls = [at(0, 'allow'), at(1_000_000, 'deny')]
    const unexplained = (underTokens: number) =>
      judge({ rule, calls, faultBound: { overTokens: 0, underTokens } }).unexplained.count
    // The bucket holds 1.1 tokens less what a grant may round off, and a token is asked for.
    expect(unexplained(0.1)).toBe(0)
    expect(unexplained(0.099_999_999)).toBe(1)
  })
})

test('of many unexplained refusals the first few are shown, with what the bucket held', () => {
  const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
  const calls = Array.from({ length: 100 }, (_, index): Call => {
    return { invokeUs: index * 10, responseUs: index * 10 + 5, cost: 4, verdict: 'deny', decidedLocally: true }
  })
  const { unexplained } = judge({ rule, calls, faultBound: faultless })
  expect(unexplained.count).toBe(100)
  expect(unexplained.first).toEqual(calls.slice(0, 5).map((call) => ({ call, heldTokens: 10 })))
})

test('of nothing, nothing is said', () => {
  const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
  expect(judge({ rule, calls: [], faultBound: faultless })).toEqual({
    lawful: true,
    worst: undefined,
    unexplained: { count: 0, first: [] },
    totals: {
      offered: 0,
      admitted: 0,
      unanswered: 0,
      lowerBound: undefined,
      upperBound: 10,
      difference: 0,
      decidedLocally: 0,
    },
  })
})

test.each([
  ['answered before it was sent', { invokeUs: 2, responseUs: 1 }],
  ['of half a microsecond', { invokeUs: 0.5 }],
  ['at no time', { responseUs: Number.NaN }],
  ['of a negative cost', { cost: -1 }],
])('a call %s is the fault of whoever recorded it', (_, change) => {
  const rule: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
  const sound: Call = { invokeUs: 1, responseUs: 2, cost: 1, verdict: 'allow', decidedLocally: false }
  expect(() => judge({ rule, calls: [sound, { ...sound, ...change }], faultBound: faultless })).toThrow(/Call 1 /)
})
