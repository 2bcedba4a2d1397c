// outage: the store is gone for 20 s while many callers ask for one bucket. Are all answered in time, and how much too much is admitted?
import { sleep } from 'k6'
import { Trend } from 'k6/metrics'
import { formatTotals } from '../services/conservation/totals.ts'
import { allAnswered, answered } from './lib/answered.ts'
import { faultClock, steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { judgeBucket, ranEmpty, sharedOutage } from './lib/conservation.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { someDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { createRecorder, createTimeline } from './lib/recorder.ts'
import { admittedChart, decisionsChart } from './lib/report/chart.ts'
import { createRun } from './lib/run.ts'
import { apiKey, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 60)
const OUTAGE_S = 20
const P99_MS = numberSetting('P99_MS', 300)

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)
const answerMs = new Trend('answer_ms', true)

const run = createRun({
  name: 'outage',
  question:
    'The store is gone for 20 s while many callers ask for one bucket. Are all answered in time, and how much too much is admitted?',
  promises: [
    allAnswered,
    promised(
      'answer_ms',
      `p(99)<${P99_MS}`,
      'whoever waits for a store that is away makes its callers wait: the deadlines are below this (P99_MS for another)',
    ),
  ],
  judge: (figures, { rule, processes }) => {
    const limiters = processes.filter(({ kind }) => kind === 'limiter').length
    const judged = judgeBucket({ slices, figures, rule, bound: sharedOutage(rule, limiters) })
    return {
      findings: [
        ...judged.findings,
        ranEmpty(judged, rule),
        plannedFaultsHappened(figures, 2),
        faultsWithin(figures, DURATION_S),
        someDecidedLocally(figures),
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
    faults: faultClock('makeOutage'),
  },
}

export const setup = () => prepareBucket({ ratePerS: RATE, durationS: DURATION_S })

export const makeOutage = ({ startMs }: Start) => {
  waitUntilS(startMs, DURATION_S / 4)
  makeFault('store-away', startMs)
  sleep(OUTAGE_S)
  makeFault('store-back', startMs)
}

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(apiKey)
  record(startMs, { sentMs, verdict })
  recordTime(startMs, sentMs)
  answerMs.add(Date.now() - sentMs)
  answered.add(verdict !== 'lost')
}

export const { teardown, handleSummary } = run
