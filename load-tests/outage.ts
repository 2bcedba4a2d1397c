// outage: the store is gone for 20 s while many callers ask for one bucket. Are all answered in time, and how much too much is admitted?
// The limiters' deadline for their store has to be short, 200 ms at most: whoever waits longer is passed over for limiters that know nothing of the bucket.
import { sleep } from 'k6'
import { faultClock, steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import { sharedOutage } from './lib/fault-bound.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { countLimiters, someDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 60)
const OUTAGE_S = 20
const P99_MS = numberSetting('P99_MS', 300)

const run = createBucketRun({
  name: 'outage',
  question:
    'The store is gone for 20 s while many callers ask for one bucket. Are all answered in time, and how much too much is admitted?',
  durationS: DURATION_S,
  promises: [
    promised(
      'answer_ms',
      `p(99)<${P99_MS}`,
      'whoever waits for a store that is away makes its callers wait: the deadlines are below this (P99_MS for another)',
    ),
  ],
  bound: ({ rule, processes }) => sharedOutage({ rule, durationS: DURATION_S, limiters: countLimiters(processes) }),
  claims: (figures) => [
    plannedFaultsHappened(figures, 2),
    faultsWithin(figures, DURATION_S),
    someDecidedLocally(figures),
  ],
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

export const ask = (start: Start) => {
  run.ask(start)
}

export const { teardown, handleSummary } = run
