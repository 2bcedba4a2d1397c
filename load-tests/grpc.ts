// grpc: the limiters asked directly, one call for each check. Do they admit exactly what one bucket holds, and how fast?
import { steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import { askLimiter, onlyTheBucket, prepareGrpc } from './lib/grpc.ts'
import type { Start } from './lib/prepare.ts'
import { everyLimiterAsked } from './lib/processes.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 200)
const DURATION_S = numberSetting('DURATION_S', 30)

const run = createBucketRun({
  name: 'grpc',
  question: 'The limiters asked directly, one call for each check. Do they admit exactly what one bucket holds?',
  durationS: DURATION_S,
  promises: [onlyTheBucket],
  claims: (figures) => [everyLimiterAsked(figures)],
})

export const options = {
  ...run.settings,
  scenarios: { callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareGrpc()

export const ask = (start: Start) => run.note(start, askLimiter())

export const { teardown, handleSummary } = run
