// grpc-stream: the limiters asked by frames of many checks on streams. Is each check answered once, and the count exact?
import { Rate } from 'k6/metrics'
import grpc from 'k6/net/grpc'
import { steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import {
  checkOf,
  connectedClient,
  noteBasis,
  onlyTheBucket,
  prepareGrpc,
  type ShouldAllowResponse,
} from './lib/grpc.ts'
import type { Start } from './lib/prepare.ts'
import { everyLimiterAsked } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { numberSetting } from './lib/settings.ts'

/** Streams opened per second, and checks on each. */
const RATE = numberSetting('RATE', 20)
const CHECKS = numberSetting('CHECKS', 20)
const DURATION_S = numberSetting('DURATION_S', 30)

const once = new Rate('each_check_answered_once')

const run = createBucketRun({
  name: 'grpc-stream',
  question: 'The limiters asked by frames of many checks on streams. Is each check answered once, and the count exact?',
  durationS: DURATION_S,
  promises: [
    onlyTheBucket,
    promised(
      'each_check_answered_once',
      'rate==1',
      'ids tell the answers apart: one missing or twice is a lost or a double charge',
    ),
  ],
  claims: (figures) => [everyLimiterAsked(figures)],
})

export const options = {
  ...run.settings,
  scenarios: { streams: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareGrpc()

type StreamDecision = { readonly id?: number; readonly decision?: Partial<ShouldAllowResponse> }

/** One stream, one frame, and an answer to each check of it. */
export const ask = (start: Start) => {
  const stream = new grpc.Stream(connectedClient(), 'weir.v1.RateLimit/ShouldAllowStream', { timeout: '10s' })
  const sentMs = Date.now()
  const seen = new Set<number>()
  let twice = 0
  let finished = false

  stream.on('data', (data) => {
    const { decisions = [] } = data as { readonly decisions?: readonly StreamDecision[] }
    for (const { id = 0, decision } of decisions) {
      if (seen.has(id)) twice += 1
      seen.add(id)
      run.note(start, { sentMs, verdict: noteBasis(decision) })
    }
    if (seen.size >= CHECKS) stream.end()
  })
  const finish = () => {
    if (finished) return
    finished = true
    once.add(seen.size === CHECKS && twice === 0)
    for (let missing = seen.size; missing < CHECKS; missing += 1) run.note(start, { sentMs, verdict: 'lost' })
  }
  stream.on('end', finish)
  stream.on('error', finish)
  stream.write({ firstId: 1, checks: Array.from({ length: CHECKS }, () => checkOf(1)) })
}

export const { teardown, handleSummary } = run
