// spike: traffic on one bucket jumps tenfold and falls again. Is everybody still answered, the count exact, and all as fast as before after it?
import { Trend } from 'k6/metrics'
import { createBucketRun } from './lib/bucket-run.ts'
import type { Figures } from './lib/figures.ts'
import { finding } from './lib/finding.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { nothingDecidedLocally } from './lib/processes.ts'
import { numberSetting } from './lib/settings.ts'

/** In the spike; a tenth of it before and after. */
const RATE = numberSetting('RATE', 200)
const BEFORE_S = 12
const SPIKE_S = 12
/** What the spike left in queues drains in this time. */
const RECOVERY_S = 5
const AFTER_S = 15
const DURATION_S = BEFORE_S + SPIKE_S + RECOVERY_S + AFTER_S

const beforeMs = new Trend('before_ms', true)
const afterMs = new Trend('after_ms', true)

const run = createBucketRun({
  name: 'spike',
  question:
    'Traffic on one bucket jumps tenfold and falls again. Is everybody answered, the count exact, and all as fast as before after it?',
  durationS: DURATION_S,
  claims: (figures) => [asFastAsBefore(figures), nothingDecidedLocally(figures)],
})

/** Twice and 20 ms: the chance of a busy moment, not a queue that never drains. */
const asFastAsBefore = (figures: Figures) => {
  const [before, after] = [figures['before_ms']?.['p(95)'] ?? 0, figures['after_ms']?.['p(95)'] ?? 0]
  return finding(
    'afterwards answers are as fast as before',
    after > 0 && after <= 2 * before + 20,
    `p95 ${before.toFixed(0)} ms before, ${after.toFixed(0)} ms after`,
  )
}

const low = Math.max(1, Math.round(RATE / 10))

export const options = {
  ...run.settings,
  scenarios: {
    callers: {
      executor: 'ramping-arrival-rate',
      exec: 'ask',
      startRate: low,
      timeUnit: '1s',
      stages: [
        { target: low, duration: `${BEFORE_S}s` },
        { target: RATE, duration: '1s' },
        { target: RATE, duration: `${SPIKE_S - 2}s` },
        { target: low, duration: '1s' },
        { target: low, duration: `${RECOVERY_S + AFTER_S}s` },
      ],
      preAllocatedVUs: RATE,
      maxVUs: 2 * RATE,
      gracefulStop: '15s',
    },
  },
}

export const setup = () =>
  prepareBucket({ ratePerS: (RATE * SPIKE_S + low * (DURATION_S - SPIKE_S)) / DURATION_S, durationS: DURATION_S })

export const ask = (start: Start) => {
  const { sentMs } = run.ask(start)
  const atS = (sentMs - start.startMs) / 1000
  if (atS < BEFORE_S) beforeMs.add(Date.now() - sentMs)
  else if (atS >= BEFORE_S + SPIKE_S + RECOVERY_S) afterMs.add(Date.now() - sentMs)
}

export const { teardown, handleSummary } = run
