import { describe, expect, test } from 'vitest'
import type { Rule } from '../bucket/rule.ts'
import type { Call } from './history.ts'
import { createBucket, type Decide, type Demand, overloadDemand, record } from './recording.fixture.ts'
import { formatTotals, totalsOf } from './totals.ts'

const rule: Rule = { capacityTokens: 50, refillTokens: 100, periodS: 1 }
const faultless = { overTokens: 0, underTokens: 0 }
const totalsWith = (calls: readonly Call[], faultBound = faultless) => totalsOf({ rule, calls, faultBound })

/** 1,000 calls a second for 10 s, each up to `latencyUs` long: the law allows about 50 + 10 × 100. */
const demandOf = (latencyUs = 10_000, seed = 1) =>
  overloadDemand({ rule, seed, calls: 10_000, overload: 10, latencyUs })
const recordTrue = (demand: readonly Demand[]) => record(demand, createBucket(rule).decide)

describe('the bounds', () => {
  test.each([0, 1_000, 10_000, 50_000])(
    'under demand that never pauses, and calls up to %d µs long, are as close as the calls are short',
    (latencyUs) => {
      for (let seed = 0; seed < 20; seed += 1) {
        const { admitted, lowerBound = 0, upperBound, difference } = totalsWith(recordTrue(demandOf(latencyUs, seed)))
        const slack = 2 + (2 * latencyUs * rule.refillTokens) / 1e6
        expect(upperBound - lowerBound).toBeLessThanOrEqual(slack)
        expect(lowerBound).toBeLessThanOrEqual(admitted)
        expect(upperBound).toBeGreaterThanOrEqual(admitted)
        expect(difference).toBe(0)
      }
    },
  )

  test('are apart by the refill that a pause let go to waste, and by no more', () => {
    const demand = demandOf()
    const pauseUs = 3_000_000
    const paused = demand.map((call, index) => (index < 5_000 ? call : { ...call, invokeUs: call.invokeUs + pauseUs }))
    const { lowerBound = 0, upperBound, difference } = totalsWith(recordTrue(paused))
    const wasted = (pauseUs / 1e6) * rule.refillTokens - rule.capacityTokens
    expect(upperBound - lowerBound).toBeGreaterThan(wasted - 4)
    expect(upperBound - lowerBound).toBeLessThan(wasted + 4)
    expect(difference).toBe(0)
  })

  test('claim nothing of a demand that is never refused', () => {
    const { offered, admitted, lowerBound, difference } = totalsWith(recordTrue(demandOf().slice(0, 20)))
    expect({ offered, admitted, lowerBound, difference }).toEqual({
      offered: 20,
      admitted: 20,
      lowerBound: undefined,
      difference: 0,
    })
  })

  test('are lowered by what was never answered, and only the lower one', () => {
    const calls = recordTrue(demandOf())
    const lost = calls.map((call, index): Call => (index % 100 === 0 ? { ...call, verdict: 'unknown' } : call))
    const [all, some] = [totalsWith(calls), totalsWith(lost)]
    expect(some.unanswered).toBe(100)
    expect(some.upperBound).toBe(all.upperBound)
    expect(some.difference).toBe(0)
    expect((all.lowerBound ?? 0) - (some.lowerBound ?? 0)).toBeGreaterThan(95)
    expect((all.lowerBound ?? 0) - (some.lowerBound ?? 0)).toBeLessThan(110)
  })

  test('end with the last answer, however long an unanswered call may still run', () => {
    const calls = recordTrue(demandOf())
    const last = Math.max(...calls.map(({ responseUs }) => responseUs))
    const open: Call = {
      invokeUs: 5_000_000,
      responseUs: last + 60_000_000,
      cost: 1,
      verdict: 'unknown',
      decidedLocally: false,
    }
    expect(totalsWith([...calls, open]).upperBound).toBe(totalsWith(calls).upperBound)
  })

  test('depend on no origin of the clock', () => {
    const calls = recordTrue(demandOf())
    const later = calls.map((call): Call => {
      const shiftUs = 1_700_000_000_000_000
      return { ...call, invokeUs: call.invokeUs + shiftUs, responseUs: call.responseUs + shiftUs }
    })
    expect(totalsWith(later)).toEqual(totalsWith(calls))
  })

  test('are widened by what faults may cost', () => {
    const calls = recordTrue(demandOf())
    const { lowerBound = 0, upperBound } = totalsWith(calls)
    expect(totalsWith(calls, { overTokens: 7, underTokens: 5 })).toMatchObject({
      lowerBound: lowerBound - 5,
      upperBound: upperBound + 7,
    })
  })

  test('do not believe a refusal that costs more than the bucket holds', () => {
    const { lowerBound, difference } = totalsWith([
      { invokeUs: 0, responseUs: 0, cost: 60, verdict: 'deny', decidedLocally: false },
    ])
    expect({ lowerBound, difference }).toEqual({ lowerBound: 0, difference: 0 })
  })
})

describe('the difference', () => {
  const damaged = (damage: (bucket: ReturnType<typeof createBucket>) => Decide) =>
    totalsWith(record(demandOf(), damage(createBucket(rule))))

  test('is what a second full bucket gave away', () => {
    let lost = false
    const { difference } = damaged(({ decide, become }) => (nowUs, cost) => {
      if (!lost && nowUs > 5_000_000) {
        lost = true
        become(undefined)
      }
      return decide(nowUs, cost)
    })
    expect(difference).toBeGreaterThan(rule.capacityTokens - 4)
    expect(difference).toBeLessThanOrEqual(rule.capacityTokens)
  })

  test('is what a bucket that got stuck half way did not give', () => {
    const { difference } = damaged(
      ({ decide }) =>
        (nowUs, cost) =>
          nowUs < 5_000_000 && decide(nowUs, cost),
    )
    expect(difference).toBeLessThan(-480)
    expect(difference).toBeGreaterThan(-520)
  })

  test('is what a bucket burns that charges every tenth grant twice', () => {
    let grants = 0
    const { admitted, difference } = damaged(({ decide }) => (nowUs, cost) => {
      const granted = decide(nowUs, grants % 10 === 9 ? 2 * cost : cost)
      if (granted) grants += 1
      return granted
    })
    expect(difference).toBeLessThan(-admitted * 0.09)
    expect(difference).toBeGreaterThan(-admitted * 0.11)
  })
})

test('the table has a line for each history, and the columns that tell whether it was lawful', () => {
  const demand = demandOf(0).slice(0, 3_000)
  const rows = [
    { name: 'true', totals: totalsWith(recordTrue(demand)) },
    {
      name: 'everybody passes',
      totals: totalsWith(record(demand, () => true).map((call) => ({ ...call, decidedLocally: true }))),
    },
    { name: 'nothing asked', totals: totalsWith([]) },
  ]
  expect(`\n${formatTotals(rows)}\n`).toMatchInlineSnapshot(`
    "
                      offered  admitted  lower bound  upper bound  difference  decided locally
    true                 3000       351          351          351           0                0
    everybody passes     3000      3000            -          351        2649             3000
    nothing asked           0         0            -           50           0                0
    "
  `)
})
