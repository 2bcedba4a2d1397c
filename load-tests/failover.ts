// failover: the primary that holds the bucket is killed and a replica takes over. Are all answered, and how much too much is admitted?
import { faultClock, steady } from './lib/arrivals.ts'
import { createBucketRun } from './lib/bucket-run.ts'
import { lostWrites } from './lib/fault-bound.ts'
import { faultsWithin, makeFault, plannedFaultsHappened, waitUntilS } from './lib/faults.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { countLimiters, someDecidedLocally } from './lib/processes.ts'
import { numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 60)
const DURATION_S = numberSetting('DURATION_S', 45)

const run = createBucketRun({
  name: 'failover',
  question:
    'The primary that holds the bucket is killed and a replica takes over. Are all answered, and how much too much is admitted?',
  durationS: DURATION_S,
  bound: ({ rule, processes }) => lostWrites({ rule, durationS: DURATION_S, limiters: countLimiters(processes) }),
  claims: (figures) => [
    plannedFaultsHappened(figures, 1),
    faultsWithin(figures, DURATION_S),
    someDecidedLocally(figures),
  ],
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

export const ask = (start: Start) => {
  run.ask(start)
}

export const { teardown, handleSummary } = run
