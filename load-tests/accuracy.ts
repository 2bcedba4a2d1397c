// accuracy: many callers ask for one bucket, through all replicas at once. Do they get exactly what one bucket holds?
import { formatTotals } from '../services/conservation/totals.ts'
import { allAnswered, answered } from './lib/answered.ts'
import { steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { faultless, judgeBucket, ranEmpty } from './lib/conservation.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { everyLimiterAsked, nothingDecidedLocally } from './lib/processes.ts'
import { createRecorder, createTimeline } from './lib/recorder.ts'
import { admittedChart, decisionsChart } from './lib/report/chart.ts'
import { createRun } from './lib/run.ts'
import { apiKey, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 100)
const DURATION_S = numberSetting('DURATION_S', 30)

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)

const run = createRun({
  name: 'accuracy',
  question: 'Many callers ask for one bucket, through all replicas at once. Do they get exactly what one bucket holds?',
  promises: [allAnswered],
  judge: (figures, { rule }) => {
    const judged = judgeBucket({ slices, figures, rule, bound: faultless })
    return {
      findings: [
        ...judged.findings,
        ranEmpty(judged, rule),
        nothingDecidedLocally(figures),
        everyLimiterAsked(figures),
      ],
      table: formatTotals([{ name: 'one bucket', totals: judged.judgement.totals }]),
      charts: [admittedChart(slices, figures, rule), decisionsChart(slices, figures)],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: { callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareBucket({ ratePerS: RATE, durationS: DURATION_S })

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(apiKey)
  record(startMs, { sentMs, verdict })
  recordTime(startMs, sentMs)
  answered.add(verdict !== 'lost')
}

export const { teardown, handleSummary } = run
