// retry-after: clients that are refused and wait as long as they are told. Are they let in, and not kept waiting for longer than needed?
import { sleep } from 'k6'
import exec from 'k6/execution'
import { Counter, Rate, Trend } from 'k6/metrics'
import { allAnswered, answered } from './lib/answered.ts'
import { askApi, retryAfterS } from './lib/ask.ts'
import { countOf } from './lib/figures.ts'
import { finding } from './lib/finding.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { nothingDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { refillPerS } from './lib/rate-limit-policy.ts'
import { createRun } from './lib/run.ts'
import { apiKeys, numberSetting } from './lib/settings.ts'

const DURATION_S = numberSetting('DURATION_S', 30)

/** Each caller of k6 is a client with a key of its own: nobody else spends its tokens. */
const keys = apiKeys()
/** A client's story takes some seconds; a third of the clients is resting at any time, so that none has to hurry. */
const STORIES_PER_10_S = numberSetting('RATE', Math.max(1, keys.length))
/** No bucket is larger than so many questions. */
const MOST_QUESTIONS = 2_000

const waits = new Counter('waits')
const admittedAfter = new Rate('admitted_after_waiting')
const waitS = new Trend('retry_after_s')

const run = createRun({
  name: 'retry-after',
  question:
    'Clients that are refused wait as long as they are told. Are they let in, and not kept waiting for longer than needed?',
  promises: [
    allAnswered,
    promised(
      'admitted_after_waiting',
      'rate==1',
      'Retry-After is a promise: who waits it out while nobody else spends is admitted',
    ),
  ],
  judge: (figures, { rule }) => {
    // One token is missing at most, and a header holds whole seconds.
    const longestS = Math.ceil(1 / refillPerS(rule))
    const toldS = figures['retry_after_s']?.['max'] ?? 0
    const waited = countOf(figures, 'waits')
    return {
      findings: [
        finding(
          'clients were refused and waited',
          waited >= Math.min(10, keys.length),
          `${waited} waits by ${keys.length} clients`,
        ),
        finding(
          'nobody was told to wait for longer than a token takes',
          toldS <= longestS,
          `told ${toldS} s at most, a token takes ${longestS} s at most`,
        ),
        nothingDecidedLocally(figures),
      ],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: {
    clients: {
      executor: 'constant-arrival-rate',
      exec: 'story',
      rate: STORIES_PER_10_S,
      timeUnit: '10s',
      duration: `${DURATION_S}s`,
      preAllocatedVUs: keys.length,
      gracefulStop: '30s',
    },
  },
}

export const setup = () => prepareBucket(undefined, keys[0])

export const story = (_: Start) => {
  const key = keys[(exec.vu.idInTest - 1) % keys.length]
  for (let asked = 0; asked < MOST_QUESTIONS; asked += 1) {
    const { verdict, response } = askApi(key)
    answered.add(verdict !== 'lost')
    if (verdict === 'lost') return
    if (verdict === 'allow') continue
    const told = retryAfterS(response)
    if (told === undefined) return admittedAfter.add(false)
    waits.add(1)
    waitS.add(told)
    sleep(told)
    const again = askApi(key)
    answered.add(again.verdict !== 'lost')
    return admittedAfter.add(again.verdict === 'allow')
  }
}

export const { teardown, handleSummary } = run
