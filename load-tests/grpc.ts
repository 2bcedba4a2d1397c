// grpc: the limiters asked directly, one call for each check. Do they admit exactly what one bucket holds, and how fast?
import { Counter, Trend } from 'k6/metrics'
import { formatTotals } from '../services/conservation/totals.ts'
import { allAnswered, answered } from './lib/answered.ts'
import { steady } from './lib/arrivals.ts'
import { faultless, judgeBucket, ranEmpty } from './lib/conservation.ts'
import { checkOf, connectedClient, prepareGrpc, type ShouldAllowResponse, verdictOf } from './lib/grpc.ts'
import type { Start } from './lib/prepare.ts'
import { everyLimiterAsked } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { createRecorder, createTimeline } from './lib/recorder.ts'
import { admittedChart, decisionsChart } from './lib/report/chart.ts'
import { createRun } from './lib/run.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 200)
const DURATION_S = numberSetting('DURATION_S', 30)

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)
const local = new Counter('answers_without_bucket')
const answerMs = new Trend('answer_ms', true)

const run = createRun({
  name: 'grpc',
  question: 'The limiters asked directly, one call for each check. Do they admit exactly what one bucket holds?',
  promises: [
    allAnswered,
    promised(
      'answers_without_bucket',
      'count==0',
      'each answer says what it rests on, and without a fault that is the bucket',
    ),
  ],
  judge: (figures, { rule }) => {
    const judged = judgeBucket({ slices, figures, rule, bound: faultless })
    return {
      findings: [...judged.findings, ranEmpty(judged, rule), everyLimiterAsked(figures)],
      table: formatTotals([{ name: 'one bucket', totals: judged.judgement.totals }]),
      charts: [admittedChart(slices, figures, rule), decisionsChart(slices, figures)],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: { callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareGrpc()

export const ask = ({ startMs }: Start) => {
  const client = connectedClient()
  const sentMs = Date.now()
  const reply = client.invoke('weir.v1.RateLimit/ShouldAllow', checkOf(1), { timeout: '10s' })
  const response = reply.message as Partial<ShouldAllowResponse> | undefined
  const verdict = verdictOf(response)
  record(startMs, { sentMs, verdict })
  recordTime(startMs, sentMs)
  answerMs.add(Date.now() - sentMs)
  answered.add(verdict !== 'lost')
  if (verdict !== 'lost' && response?.basis !== 'BUCKET') local.add(1)
}

export const { teardown, handleSummary } = run
