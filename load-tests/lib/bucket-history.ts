import type { Call } from '../../services/conservation/history.ts'
import { countOf, type Figures } from './figures.ts'

/**
 * k6's callers share no memory, only metrics that add up. So a bucket's history is kept as counters, one for each slice of time and
 * kind of event, and judged as one from what they hold: each call widened to whole slices, which only ever excuses.
 */
export type Slices = { readonly name: string; readonly count: number; readonly sliceMs: number }

export const sliceEvents = ['sent', 'passed', 'refused'] as const
/** `sent`: asked, and admitted later; `passed`: its answer; `refused`: answered within a slice. */
export type SliceEvent = (typeof sliceEvents)[number]

export const metricOf = ({ name }: Slices, event: SliceEvent, slice: number) => `${name}_${event}_${slice}`

/** Refusals that took longer than a slice are counted here: when they were decided is not known well enough to judge by. */
export const slowRefusals = ({ name }: Slices) => `${name}_slow_refusals`

/** Questions without an answer that tells: charged at any time of the run, or never. */
export const lost = ({ name }: Slices) => `${name}_lost`

/** Calls that no slice was left for. */
export const unrecorded = ({ name }: Slices) => `${name}_unrecorded`

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
