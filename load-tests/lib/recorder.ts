import { Counter, Trend } from 'k6/metrics'
import {
  lost,
  metricOf,
  type SliceEvent,
  type Slices,
  sliceEvents,
  slowRefusals,
  unrecorded,
} from './bucket-history.ts'

/** What came of one question. `lost`: nobody can say whether it was charged. */
export type Verdict = 'allow' | 'deny' | 'lost'

export type Recorder = {
  readonly slices: Slices
  /** Counts one question; times as of `Date.now()`, the start of the run among them. */
  readonly record: (startMs: number, call: { readonly sentMs: number; readonly verdict: Verdict }) => void
}

/** So many, because every caller of k6 holds every counter: more would cost memory, and time at the start. */
const SLICES = 120
const GRACE_S = 12

/** To be called while the file loads, as k6 wants it of all metrics. */
export const createRecorder = (name: string, durationS: number): Recorder => {
  const sliceMs = Math.ceil(((durationS + GRACE_S) * 1000) / SLICES)
  const slices: Slices = { name, count: SLICES, sliceMs }
  const counters = Object.fromEntries(
    sliceEvents.map((event) => [
      event,
      Array.from({ length: SLICES }, (_, slice) => new Counter(metricOf(slices, event, slice))),
    ]),
  ) as Record<SliceEvent, Counter[]>
  const slow = new Counter(slowRefusals(slices))
  const unanswered = new Counter(lost(slices))
  const outside = new Counter(unrecorded(slices))
  const add = (event: SliceEvent, slice: number) => (counters[event][slice] ?? outside).add(1)

  return {
    slices,
    record: (startMs, { sentMs, verdict }) => {
      const nowMs = Date.now()
      const sent = Math.floor((sentMs - startMs) / sliceMs)
      const answered = Math.floor((nowMs - startMs) / sliceMs)
      if (answered >= SLICES || sent < 0) {
        outside.add(1)
        return
      }
      switch (verdict) {
        case 'allow':
          add('sent', sent)
          add('passed', answered)
          break
        case 'deny':
          if (nowMs - sentMs <= sliceMs) add('refused', answered)
          else slow.add(1)
          break
        case 'lost':
          unanswered.add(1)
          break
      }
    },
  }
}

const CHART_SLICES = 40

/** Response times over the run, for the chart. */
export const createTimeline = (durationS: number) => {
  const sliceMs = (durationS * 1000) / CHART_SLICES
  const trends = Array.from({ length: CHART_SLICES }, (_, slice) => new Trend(timelineMetric(slice), true))
  return (startMs: number, sentMs: number) => {
    const nowMs = Date.now()
    trends[Math.min(CHART_SLICES - 1, Math.max(0, Math.floor((sentMs - startMs) / sliceMs)))]?.add(nowMs - sentMs)
  }
}

export const timelineMetric = (slice: number) => `answer_ms_${slice}`
