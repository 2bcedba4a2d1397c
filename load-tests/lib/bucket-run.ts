import { formatTotals } from '../../services/conservation/totals.ts'
import { allAnswered, answered } from './answered.ts'
import { type Asked, askApi } from './ask.ts'
import { judgeBucket, ranEmpty } from './conservation.ts'
import { type FaultBound, faultless } from './fault-bound.ts'
import { describeTimes, type Figures } from './figures.ts'
import type { Finding } from './finding.ts'
import type { Start } from './prepare.ts'
import type { Promised } from './promise.ts'
import { createRecorder, createTimeline } from './recorder.ts'
import { admittedChart, decisionsChart } from './report/chart.ts'
import { createRun } from './run.ts'
import { apiKey, numberSetting } from './settings.ts'

export type BucketRunDefinition = {
  readonly name: string
  readonly question: string
  readonly durationS: number
  /** Beside the one that everybody is answered. */
  readonly promises?: readonly Promised[]
  /** By how much the planned faults may break the law; `OVER_TOKENS` for another number of tokens. */
  readonly bound?: (start: Start) => FaultBound
  /** What the run has to show beside the law. */
  readonly claims: (figures: Figures) => readonly Finding[]
}

/** A run about one bucket: every question to it is recorded, and the law of conservation is held to all of them. */
export const createBucketRun = ({ name, question, durationS, promises = [], bound, claims }: BucketRunDefinition) => {
  const { slices, record } = createRecorder('bucket', durationS)
  const recordTime = createTimeline(durationS)
  const run = createRun({
    name,
    question,
    promises: [allAnswered, ...promises],
    judge: (figures, start) => {
      const { rule } = start
      const judged = judgeBucket({
        slices,
        figures,
        rule,
        bound: bound === undefined ? faultless : asSet(bound(start)),
      })
      return {
        findings: [...judged.findings, ranEmpty(judged, rule), ...claims(figures)],
        table: `${formatTotals([{ name: 'one bucket', totals: judged.judgement.totals }])}\n${describeTimes(figures)}`,
        charts: [admittedChart(slices, figures, rule), decisionsChart(slices, figures)],
      }
    },
  })
  /** One question that was answered just now. */
  const note = ({ startMs }: Start, { verdict, sentMs }: Pick<Asked, 'verdict' | 'sentMs'>) => {
    record(startMs, { sentMs, verdict })
    recordTime(startMs, sentMs)
    answered.add(verdict !== 'lost')
  }
  return {
    ...run,
    note,
    /** Asks the API with `API_KEY`. */
    ask: (start: Start): Asked => {
      const asked = askApi(apiKey)
      note(start, asked)
      return asked
    },
  }
}

const asSet = (bound: FaultBound): FaultBound => ({
  ...bound,
  overTokens: numberSetting('OVER_TOKENS', bound.overTokens),
})
