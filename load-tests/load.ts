// load: a steady rate below everybody's limit. Is everybody served, and how long does it take?
import exec from 'k6/execution'
import { Counter } from 'k6/metrics'
import { allAnswered, answered } from './lib/answered.ts'
import { steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { describeTimes } from './lib/figures.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { describeCost, everyLimiterAsked, nothingDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { createTimeline } from './lib/recorder.ts'
import { createRun } from './lib/run.ts'
import { apiKeys, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 100)
const DURATION_S = numberSetting('DURATION_S', 60)
const P99_MS = numberSetting('P99_MS', 150)

const keys = apiKeys()
const refused = new Counter('refused')
const recordTime = createTimeline(DURATION_S)

const run = createRun({
  name: 'load',
  question: "A steady rate below everybody's limit. Is everybody served, and how long does it take?",
  promises: [
    allAnswered,
    promised('refused', 'count==0', 'nobody asks for more than the limit allows'),
    promised(
      'answer_ms',
      `p(99)<${P99_MS}`,
      "the gate adds 50 ms at worst, its deadline; the rest is the API's and the way there (P99_MS for another)",
    ),
  ],
  judge: (figures) => ({
    findings: [nothingDecidedLocally(figures), everyLimiterAsked(figures)],
    table: `${describeTimes(figures)}\n${describeCost(figures)}`,
  }),
})

export const options = {
  ...run.settings,
  scenarios: { callers: steady({ exec: 'ask', ratePerS: RATE, durationS: DURATION_S }) },
}

export const setup = () => prepareBucket(undefined, keys[0])

export const ask = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(keys[exec.scenario.iterationInTest % Math.max(1, keys.length)])
  recordTime(startMs, sentMs)
  answered.add(verdict !== 'lost')
  if (verdict === 'deny') refused.add(1)
}

export const { teardown, handleSummary } = run
