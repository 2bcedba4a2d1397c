// accuracy-scaling: the same while replicas go 2 → 5 → 1. Does a bucket stay one bucket when those who ask it come and go?
import { sleep } from 'k6'
import { faultClock, steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { limitersAsked, nothingDecidedLocally } from './lib/processes.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 60)

const MOST_REPLICAS = 5
/** So long all five are asked before four of them go. */
const TOGETHER_S = 4

const run = createBucketRun({
  name: 'accuracy-scaling',
  question: 'Replicas go 2 → 5 → 1 while many callers ask for one bucket. Does it stay one bucket?',
  durationS: DURATION_S,
  claims: (figures) => [
    plannedFaultsHappened(figures, 3),
    faultsWithin(figures, DURATION_S),
    limitersAsked(figures, MOST_REPLICAS),
    nothingDecidedLocally(figures),
  ],
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

export const ask = (start: Start) => {
  run.ask(start)
}

export const { teardown, handleSummary } = run
