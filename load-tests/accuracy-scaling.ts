// accuracy-scaling: the same while replicas go 2 → 5 → 1. Does a bucket stay one bucket when those who ask it come and go?
import { sleep } from 'k6'
import { formatTotals } from '../services/conservation/totals.ts'
import { allAnswered, answered } from './lib/answered.ts'
import { faultClock, steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { faultless, judgeBucket, ranEmpty } from './lib/conservation.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { limitersAsked, nothingDecidedLocally } from './lib/processes.ts'
import { createRecorder, createTimeline } from './lib/recorder.ts'
import { admittedChart, decisionsChart } from './lib/report/chart.ts'
import { createRun } from './lib/run.ts'
import { apiKey, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 60)

const MOST_REPLICAS = 5
/** So long all five are asked before four of them go. */
const TOGETHER_S = 4

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)

const run = createRun({
  name: 'accuracy-scaling',
  question: 'Replicas go 2 → 5 → 1 while many callers ask for one bucket. Does it stay one bucket?',
  promises: [allAnswered],
  judge: (figures, { rule }) => {
    const judged = judgeBucket({ slices, figures, rule, bound: faultless })
    return {
      findings: [
        ...judged.findings,
        ranEmpty(judged, rule),
        plannedFaultsHappened(figures, 3),
        faultsWithin(figures, DURATION_S),
        limitersAsked(figures, MOST_REPLICAS),
        nothingDecidedLocally(figures),
      ],
      table: formatTotals([{ name: 'one bucket', totals: judged.judgement.totals }]),
      charts: [admittedChart(slices, figures, rule), decisionsChart(slices, figures)],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: {
    callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }),
    faults: faultClock('scale'),
  },
}

export const setup = () => {
  makeFault('replicas-2', Date.now())
  return prepareBucket({ ratePerS: RATE, durationS: DURATION_S })
}

export const scale = ({ startMs }: Start) => {
  waitUntilS(startMs, DURATION_S / 10)
  makeFault('replicas-5', startMs)
  sleep(TOGETHER_S)
  makeFault('replicas-1', startMs)
}

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(apiKey)
  record(startMs, { sentMs, verdict })
  recordTime(startMs, sentMs)
  answered.add(verdict !== 'lost')
}

export const { teardown, handleSummary } = run
