import { Counter, Trend } from 'k6/metrics'
import { countersIn, countersOf, type Slices, type Verdict } from './bucket-history.ts'

export type Recorder = {
  readonly slices: Slices
  /** Counts one question that was answered just now. */
  readonly record: (startMs: number, call: { readonly sentMs: number; readonly verdict: Verdict }) => void
}

/** So many, because every caller of k6 holds every counter: more would cost memory, and time at the start. */
const SLICES = 120
const GRACE_S = 12

/** To be called while the file loads, as k6 wants it of all metrics. */
export const createRecorder = (name: string, durationS: number): Recorder => {
  const sliceMs = Math.ceil(((durationS + GRACE_S) * 1000) / SLICES)
  const slices: Slices = { name, count: SLICES, sliceMs }
  const counters = new Map(countersIn(slices).map((metric) => [metric, new Counter(metric)]))

  return {
    slices,
    record: (startMs, call) => {
      for (const metric of countersOf(slices, { startMs, answeredMs: Date.now(), ...call }))
        counters.get(metric)?.add(1)
    },
  }
}

const CHART_SLICES = 40

/** Response times: all of them (`answer_ms`), and over the run for the chart. */
export const createTimeline = (durationS: number) => {
  const sliceMs = (durationS * 1000) / CHART_SLICES
  const all = new Trend('answer_ms', true)
  const trends = Array.from({ length: CHART_SLICES }, (_, slice) => new Trend(timelineMetric(slice), true))
  return (startMs: number, sentMs: number) => {
    const tookMs = Date.now() - sentMs
    all.add(tookMs)
    trends[Math.min(CHART_SLICES - 1, Math.max(0, Math.floor((sentMs - startMs) / sliceMs)))]?.add(tookMs)
  }
}

const timelineMetric = (slice: number) => `answer_ms_${slice}`
