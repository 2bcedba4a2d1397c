// smoke: does the installation answer, count down, refuse and say when to come back?
import { Counter, Rate } from 'k6/metrics'
import { allAnswered, answered } from './lib/answered.ts'
import { askApi, retryAfterS } from './lib/ask.ts'
import { countOf } from './lib/figures.ts'
import { finding } from './lib/finding.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { nothingDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { announcedQuota } from './lib/rate-limit-policy.ts'
import { createRun } from './lib/run.ts'
import { apiKey, numberSetting } from './lib/settings.ts'

const RATE = numberSetting('RATE', 20)
const DURATION_S = numberSetting('DURATION_S', 10)

const admitted = new Counter('admitted')
const refused = new Counter('refused')
const announced = new Rate('quota_announced')
const explained = new Rate('refusals_explained')

const run = createRun({
  name: 'smoke',
  question: 'Does the installation answer, count down, refuse and say when to come back?',
  promises: [
    allAnswered,
    promised('quota_announced', 'rate==1', 'a client that cannot read what is left has to guess'),
    promised('refusals_explained', 'rate==1', 'a 429 holds Retry-After, nothing left, and a body of one text'),
  ],
  judge: (figures) => {
    const [passes, refusals] = [countOf(figures, 'admitted'), countOf(figures, 'refused')]
    return {
      findings: [
        finding(
          'some are admitted and some refused',
          passes > 0 && refusals > 0,
          `${passes} admitted, ${refusals} refused`,
        ),
        nothingDecidedLocally(figures),
      ],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: {
    callers: {
      executor: 'constant-arrival-rate',
      exec: 'ask',
      rate: RATE,
      timeUnit: '1s',
      duration: `${DURATION_S}s`,
      preAllocatedVUs: 50,
      maxVUs: 100,
    },
  },
}

export const setup = () => prepareBucket({ ratePerS: RATE, durationS: DURATION_S })

export const ask = ({ rule }: Start) => {
  const { verdict, response } = askApi(apiKey, 'text')
  answered.add(verdict !== 'lost')
  if (verdict === 'lost') return
  const quota = announcedQuota(response.headers)
  announced.add(quota?.rule.capacityTokens === rule.capacityTokens && quota.remaining <= rule.capacityTokens)
  if (verdict === 'allow') return admitted.add(1)
  refused.add(1)
  explained.add((retryAfterS(response) ?? 0) >= 1 && quota?.remaining === 0 && isOneText(String(response.body)))
}

/** `{"error":"…"}` and nothing else, with the seconds in it. */
const isOneText = (body: string) => /^\{"error":"[^"]*\b\d+ seconds?\b[^"]*"\}$/.test(body)

export const { teardown, handleSummary } = run
