import type { Rule } from '../../services/bucket/rule.ts'
import { type Judgement, judge } from '../../services/conservation/judge.ts'
import { callsOf, type Slices, slowRefusals, unrecorded } from './bucket-history.ts'
import type { FaultBound } from './fault-bound.ts'
import { countOf, type Figures } from './figures.ts'
import { type Finding, finding } from './finding.ts'
import { refillPerS } from './rate-limit-policy.ts'

export type Judged = {
  readonly judgement: Judgement
  readonly bound: FaultBound
  readonly findings: readonly Finding[]
}

type Evidence = {
  readonly slices: Slices
  readonly figures: Figures
  readonly rule: Rule
  readonly bound: FaultBound
}

/** The law of conservation (`services/conservation`), held to what was recorded of one bucket. */
export const judgeBucket = ({ slices, figures, rule, bound }: Evidence): Judged => {
  const judgement = judge({ rule, calls: callsOf(slices, figures), faultBound: bound })
  const { totals, worst, unexplained } = judgement
  const { overTokens, underTokens, source } = bound
  const planned =
    overTokens === 0 && underTokens === 0 ? '' : ` (bound ${overTokens} over, ${underTokens} under: ${source})`
  const excess = worst?.excessTokens ?? 0
  const resolution = Math.ceil((2 * slices.sliceMs * refillPerS(rule)) / 1000)
  const missed = countOf(figures, unrecorded(slices))
  const findings = [
    finding(
      'in all: admitted is between the bounds of the law',
      totals.difference === 0,
      `${totals.admitted} admitted, ${totals.lowerBound ?? 0} to ${totals.upperBound} lawful${planned}`,
    ),
    finding(
      'in any window: admitted ≤ capacity + refill × time',
      excess <= overTokens,
      `worst window ${excess > 0 ? `${excess.toFixed(1)} tokens over` : `${(-excess).toFixed(1)} tokens below`}; slices of ${slices.sliceMs} ms blur ${resolution} tokens`,
    ),
    finding(
      'every refusal is explained by grants before it',
      unexplained.count === 0,
      `${unexplained.count} of ${countRefusals(totals)} unexplained, ${countOf(figures, slowRefusals(slices))} too slow to tell`,
    ),
    finding('every question was recorded', missed === 0, `${missed} fell outside the run`),
  ]
  return { judgement, bound, findings }
}

const countRefusals = ({ offered, admitted, unanswered }: Judgement['totals']) => offered - admitted - unanswered

/** A bucket that never ran empty was not tried: everybody would have been let in without a limiter, too. */
export const ranEmpty = ({ judgement: { totals }, bound }: Judged, { capacityTokens }: Rule) => {
  const proved = totals.lowerBound === undefined ? 0 : totals.lowerBound + bound.underTokens
  return finding(
    'the bucket ran empty, so that there was something to count',
    proved > capacityTokens,
    `${countRefusals(totals)} of ${totals.offered} refused, capacity ${capacityTokens}`,
  )
}
