// failover: the primary that holds the bucket is killed and a replica takes over. Are all answered, and how much too much is admitted?
import { formatTotals } from '../services/conservation/totals.ts'
import { allAnswered, answered } from './lib/answered.ts'
import { faultClock, steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { judgeBucket, lostWrites, ranEmpty } from './lib/conservation.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { createRecorder, createTimeline } from './lib/recorder.ts'
import { admittedChart, decisionsChart } from './lib/report/chart.ts'
import { createRun } from './lib/run.ts'
import { apiKey, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 45)

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)

const run = createRun({
  name: 'failover',
  question:
    'The primary that holds the bucket is killed and a replica takes over. Are all answered, and how much too much is admitted?',
  promises: [allAnswered],
  judge: (figures, { rule }) => {
    const judged = judgeBucket({ slices, figures, rule, bound: lostWrites(rule) })
    return {
      findings: [
        ...judged.findings,
        ranEmpty(judged, rule),
        plannedFaultsHappened(figures, 1),
        faultsWithin(figures, DURATION_S),
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
    faults: faultClock('killPrimary'),
  },
}

export const setup = () => prepareBucket({ ratePerS: RATE, durationS: DURATION_S })

export const killPrimary = ({ startMs }: Start) => {
  waitUntilS(startMs, DURATION_S / 3)
  makeFault('kill-primary', startMs)
}

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(apiKey)
  record(startMs, { sentMs, verdict })
  recordTime(startMs, sentMs)
  answered.add(verdict !== 'lost')
}

export const { teardown, handleSummary } = run
