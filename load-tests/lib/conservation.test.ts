import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Rule } from '../../services/bucket/rule.ts'
import type { Call } from '../../services/conservation/history.ts'
import { createBucket, type Decide, overloadDemand, record } from '../../services/conservation/recording.fixture.ts'
import { countersIn, countersOf, type Question, type Slices } from './bucket-history.ts'
import { judgeBucket, ranEmpty } from './conservation.ts'
import { faultless } from './fault-bound.ts'
import type { Figures } from './figures.ts'
import { failuresOf } from './finding.ts'

const rule: Rule = { capacityTokens: 30, refillTokens: 5, periodS: 1 }
const slices: Slices = { name: 'bucket', count: 120, sliceMs: 250 }

const questionOf = ({ invokeUs, responseUs, verdict }: Call): Question => ({
  startMs: 0,
  sentMs: Math.floor(invokeUs / 1000),
  answeredMs: Math.ceil(responseUs / 1000),
  verdict: verdict === 'unknown' ? 'lost' : verdict,
})

/** What k6 would have counted. */
const figuresOf = (calls: readonly Call[]): Figures => {
  const figures: Record<string, { count: number }> = {}
  for (const metric of calls.flatMap((call) => countersOf(slices, questionOf(call))))
    figures[metric] = { count: (figures[metric]?.count ?? 0) + 1 }
  return figures
}

const demandOf = (seed: number, latencyUs = 400_000) =>
  overloadDemand({ rule, seed, calls: 500, overload: 4, latencyUs })

const judged = (calls: readonly Call[]) => judgeBucket({ slices, figures: figuresOf(calls), rule, bound: faultless })

const failedClaims = (calls: readonly Call[]) => failuresOf(judged(calls).findings).map(({ claim }) => claim)

test('a bucket that keeps the law is never accused, however its calls fall into slices', () => {
  fc.assert(
    fc.property(fc.integer(), fc.integer({ min: 1, max: 900_000 }), (seed, latencyUs) => {
      const calls = record(demandOf(seed, latencyUs), createBucket(rule).decide)
      expect(failedClaims(calls)).toEqual([])
      expect(ranEmpty(judged(calls), rule).outcome).toBe('holds')
    }),
    { numRuns: 60 },
  )
})

test('two buckets where one should be break the law in all and in a window', () => {
  const [one, other] = [createBucket(rule), createBucket(rule)]
  let turn = 0
  const either: Decide = (nowUs, cost) => {
    turn += 1
    return (turn % 2 === 0 ? one : other).decide(nowUs, cost)
  }
  const failed = failedClaims(record(demandOf(1), either))
  expect(failed).toContain('in all: admitted is between the bounds of the law')
  expect(failed).toContain('in any window: admitted ≤ capacity + refill × time')
})

test('a bucket that refuses what it holds is found by its refusals', () => {
  const { decide } = createBucket(rule)
  const mean: Decide = (nowUs, cost) => nowUs < 3_000_000 && decide(nowUs, cost)
  expect(failedClaims(record(demandOf(1), mean))).toContain('every refusal is explained by grants before it')
})

test('questions without an answer accuse nobody', () => {
  const { decide } = createBucket(rule)
  const demand = demandOf(1).map((one, index) => ({
    ...one,
    fate: index % 10 === 0 ? ('answer_lost' as const) : one.fate,
  }))
  expect(failedClaims(record(demand, decide))).toEqual([])
})

test('a question that was answered after the last slice was not recorded, and the run says so', () => {
  const late: Call = { invokeUs: 0, responseUs: 31_000_000, cost: 1, verdict: 'allow', decidedLocally: false }
  expect(failedClaims([late])).toEqual(['every question was recorded'])
})

test('a refusal that took longer than a slice is not judged by when it was decided', () => {
  const { findings } = judged([{ invokeUs: 0, responseUs: 2_000_000, cost: 1, verdict: 'deny', decidedLocally: false }])
  expect(failuresOf(findings)).toEqual([])
  expect(findings.map(({ figures }) => figures)).toContainEqual(expect.stringContaining('1 too slow to tell'))
})

test('a refusal that was decided in the slice before its answer came is explained by what was granted before that', () => {
  const quick: Rule = { capacityTokens: 1, refillTokens: 41, periodS: 10 }
  const at = (invokeMs: number, responseMs: number, verdict: Call['verdict']): Call => ({
    invokeUs: invokeMs * 1000,
    responseUs: responseMs * 1000,
    cost: 1,
    verdict,
    decidedLocally: false,
  })
  const calls = [at(240, 241, 'allow'), at(480, 510, 'deny')]
  const { findings } = judgeBucket({ slices, figures: figuresOf(calls), rule: quick, bound: faultless })
  expect(failuresOf(findings)).toEqual([])
})

test('a bucket that nobody emptied was not tried', () => {
  const { decide } = createBucket(rule)
  const few = record(demandOf(1).slice(0, 20), decide)
  expect(ranEmpty(judged(few), rule).outcome).toBe('fails')
})

test('whatever a question counts is declared before the run', () => {
  const declared = new Set(countersIn(slices))
  const figures = figuresOf(record(demandOf(1), createBucket(rule).decide))
  expect(Object.keys(figures).filter((metric) => !declared.has(metric))).toEqual([])
})
