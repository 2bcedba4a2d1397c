// grpc-stream: the limiters asked by frames of many checks on streams. Is each check answered once, and the count exact?
import { Counter, Rate } from 'k6/metrics'
import grpc from 'k6/net/grpc'
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

/** Streams opened per second, and checks on each. */
const RATE = numberSetting('RATE', 20)
const CHECKS = numberSetting('CHECKS', 20)
const DURATION_S = numberSetting('DURATION_S', 30)

const { slices, record } = createRecorder('bucket', DURATION_S)
const recordTime = createTimeline(DURATION_S)
const local = new Counter('answers_without_bucket')
const once = new Rate('each_check_answered_once')

const run = createRun({
  name: 'grpc-stream',
  question: 'The limiters asked by frames of many checks on streams. Is each check answered once, and the count exact?',
  promises: [
    allAnswered,
    promised(
      'each_check_answered_once',
      'rate==1',
      'ids tell the answers apart: one missing or twice is a lost or a double charge',
    ),
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
  scenarios: { streams: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareGrpc()

type StreamDecision = { readonly id?: number; readonly decision?: Partial<ShouldAllowResponse> }

/** One stream, one frame, and an answer to each check of it. */
export const ask = ({ startMs }: Start) => {
  const stream = new grpc.Stream(connectedClient(), 'weir.v1.RateLimit/ShouldAllowStream', { timeout: '10s' })
  const sentMs = Date.now()
  const seen = new Set<number>()
  let twice = 0

  stream.on('data', (data) => {
    const { decisions = [] } = data as { readonly decisions?: readonly StreamDecision[] }
    for (const { id = 0, decision } of decisions) {
      if (seen.has(id)) twice += 1
      seen.add(id)
      const verdict = verdictOf(decision)
      record(startMs, { sentMs, verdict })
      answered.add(verdict !== 'lost')
      if (verdict !== 'lost' && decision?.basis !== 'BUCKET') local.add(1)
    }
    recordTime(startMs, sentMs)
    if (seen.size >= CHECKS) stream.end()
  })
  const finish = () => {
    once.add(seen.size === CHECKS && twice === 0)
    for (let missing = seen.size; missing < CHECKS; missing += 1) {
      record(startMs, { sentMs, verdict: 'lost' })
      answered.add(false)
    }
  }
  let finished = false
  const finishOnce = () => {
    if (!finished) finish()
    finished = true
  }
  stream.on('end', finishOnce)
  stream.on('error', finishOnce)
  stream.write({ firstId: 1, checks: Array.from({ length: CHECKS }, () => checkOf(1)) })
}

export const { teardown, handleSummary } = run
