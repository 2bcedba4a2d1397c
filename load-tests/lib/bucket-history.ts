import type { Call } from '../../services/conservation/history.ts'
import { countOf, type Figures } from './figures.ts'

/**
 * k6's callers share no memory, only metrics that add up. So a bucket's history is kept as counters, one for each slice of time and
 * kind of event, and judged as one from what they hold: each call widened to whole slices, which only ever excuses.
 */
export type Slices = { readonly name: string; readonly count: number; readonly sliceMs: number }

const sliceEvents = ['sent', 'passed', 'refused'] as const
/** `sent`: asked, and admitted later; `passed`: its answer; `refused`: answered within a slice. */
type SliceEvent = (typeof sliceEvents)[number]

export const metricOf = ({ name }: Slices, event: SliceEvent, slice: number) => `${name}_${event}_${slice}`

/** Refusals that took longer than a slice are counted here: when they were decided is not known well enough to judge by. */
export const slowRefusals = ({ name }: Slices) => `${name}_slow_refusals`

/** Questions without an answer that tells: charged at any time of the run, or never. */
export const lost = ({ name }: Slices) => `${name}_lost`

/** Calls that no slice was left for. */
export const unrecorded = ({ name }: Slices) => `${name}_unrecorded`

/** One question, times as of `Date.now()`, the start of the run among them. */
export type Question = {
  readonly startMs: number
  readonly sentMs: number
  readonly answeredMs: number
  readonly verdict: Verdict
}

/** What came of one question. `lost`: nobody can say whether it was charged. */
export type Verdict = 'allow' | 'deny' | 'lost'

/** The counters that one question adds 1 to. */
export const countersOf = (slices: Slices, { startMs, sentMs, answeredMs, verdict }: Question): readonly string[] => {
  const sent = Math.floor((sentMs - startMs) / slices.sliceMs)
  const answered = Math.floor((answeredMs - startMs) / slices.sliceMs)
  if (answered >= slices.count || sent < 0) return [unrecorded(slices)]
  switch (verdict) {
    case 'allow':
      return [metricOf(slices, 'sent', sent), metricOf(slices, 'passed', answered)]
    case 'deny':
      return [answeredMs - sentMs <= slices.sliceMs ? metricOf(slices, 'refused', answered) : slowRefusals(slices)]
    case 'lost':
      return [lost(slices)]
  }
}

/** All of them. */
export const countersIn = (slices: Slices): readonly string[] => [
  ...sliceEvents.flatMap((event) => Array.from({ length: slices.count }, (_, slice) => metricOf(slices, event, slice))),
  slowRefusals(slices),
  lost(slices),
  unrecorded(slices),
]

/**
 * The calls behind the counters. Who was answered first is taken to have asked first: of all ways to pair questions with
 * answers that one has the fewest calls within any window, so it accuses of nothing that did not happen.
 */
export const callsOf = (slices: Slices, figures: Figures): readonly Call[] => {
  const { count, sliceMs } = slices
  const indexes = Array.from({ length: count }, (_, slice) => slice)
  const countIn = (event: SliceEvent, slice: number) => countOf(figures, metricOf(slices, event, slice))
  const each = (event: SliceEvent) => indexes.flatMap((slice) => new Array<number>(countIn(event, slice)).fill(slice))
  const startUs = (slice: number) => slice * sliceMs * 1000
  const endUs = (slice: number) => (slice + 1) * sliceMs * 1000
  const call = (from: number, to: number, verdict: Call['verdict']): Call => ({
    invokeUs: startUs(Math.max(0, from)),
    responseUs: endUs(to),
    cost: 1,
    verdict,
    decidedLocally: false,
  })
  const answers = each('passed')
  return [
    ...each('sent').flatMap((sent, index) => {
      const answered = answers[index]
      return answered === undefined ? [] : [call(sent, answered, 'allow')]
    }),
    ...each('refused').map((answered) => call(answered - 1, answered, 'deny')),
    ...Array.from({ length: countOf(figures, lost(slices)) }, () => call(0, count - 1, 'unknown')),
  ]
}
