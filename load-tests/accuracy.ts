// accuracy: many callers ask for one bucket, through all replicas at once. Do they get exactly what one bucket holds?
import { steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { everyLimiterAsked, nothingDecidedLocally } from './lib/processes.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 100)
const DURATION_S = numberSetting('DURATION_S', 30)

const run = createBucketRun({
  name: 'accuracy',
  question: 'Many callers ask for one bucket, through all replicas at once. Do they get exactly what one bucket holds?',
  durationS: DURATION_S,
  claims: (figures) => [nothingDecidedLocally(figures), everyLimiterAsked(figures)],
})

export const options = {
  ...run.settings,
  scenarios: { callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareBucket({ ratePerS: RATE, durationS: DURATION_S })

export const ask = (start: Start) => {
  run.ask(start)
}

export const { teardown, handleSummary } = run
