// fairness: one client asks for far more than it may, beside clients that keep to their limits. Do these notice?
import exec from 'k6/execution'
import { Counter, Rate, Trend } from 'k6/metrics'
import { allAnswered, answered } from './lib/answered.ts'
import { steady } from './lib/arrivals.ts'
import { askApi } from './lib/ask.ts'
import { countOf } from './lib/figures.ts'
import { finding } from './lib/finding.ts'
import { prepareBucket, type Start } from './lib/prepare.ts'
import { nothingDecidedLocally } from './lib/processes.ts'
import { promised } from './lib/promise.ts'
import { createRun } from './lib/run.ts'
import { apiKey, apiKeys, numberSetting } from './lib/settings.ts'

/** Of the abuser. */
const RATE = numberSetting('RATE', 100)
/** Of all polite clients together: each has to stay below its limit. */
const POLITE_RATE = numberSetting('POLITE_RATE', 20)
const ALONE_S = 10
const BESIDE_S = numberSetting('DURATION_S', 20)

const polite = apiKeys().filter((key) => key !== apiKey)

const politeAdmitted = new Rate('polite_admitted')
const aloneMs = new Trend('polite_alone_ms', true)
const besideMs = new Trend('polite_beside_ms', true)
const abuses = new Counter('abuser_asked')
const refused = new Counter('abuser_refused')

const run = createRun({
  name: 'fairness',
  question: 'One client asks for far more than it may, beside clients that keep to their limits. Do these notice?',
  promises: [
    allAnswered,
    promised('polite_admitted', 'rate==1', 'who keeps to its limit is admitted, whatever others do'),
  ],
  judge: (figures) => {
    const [asked, refusals] = [countOf(figures, 'abuser_asked'), countOf(figures, 'abuser_refused')]
    const [alone, beside] = [figures['polite_alone_ms']?.['p(95)'] ?? 0, figures['polite_beside_ms']?.['p(95)'] ?? 0]
    return {
      findings: [
        finding('there was an abuser, and it was refused', refusals > asked / 2, `${refusals} of ${asked} refused`),
        finding(
          'there were polite clients',
          polite.length > 0,
          `${polite.length}; API_KEYS names them beside API_KEY, the abuser's`,
        ),
        // Three times and 50 ms: the machine is shared, the bucket is not.
        finding(
          'the polite are answered about as fast as alone',
          beside > 0 && beside <= 3 * alone + 50,
          `p95 ${alone.toFixed(0)} ms alone, ${beside.toFixed(0)} ms beside the abuser`,
        ),
        nothingDecidedLocally(figures),
      ],
    }
  },
})

export const options = {
  ...run.settings,
  scenarios: {
    polite: steady({ exec: 'askPolitely', ratePerS: POLITE_RATE, durationS: ALONE_S + BESIDE_S }),
    abuser: steady({ exec: 'abuse', ratePerS: RATE, durationS: BESIDE_S, startS: ALONE_S }),
  },
}

export const setup = () => {
  if (polite.length === 0) exec.test.abort("API_KEYS must name the polite clients' keys, and API_KEY the abuser's.")
  return prepareBucket({ ratePerS: RATE, durationS: BESIDE_S })
}

export const askPolitely = ({ startMs }: Start) => {
  const { verdict, sentMs } = askApi(polite[exec.scenario.iterationInTest % polite.length])
  answered.add(verdict !== 'lost')
  politeAdmitted.add(verdict === 'allow')
  const times = sentMs - startMs < ALONE_S * 1000 ? aloneMs : besideMs
  times.add(Date.now() - sentMs)
}

export const abuse = () => {
  const { verdict } = askApi(apiKey)
  answered.add(verdict !== 'lost')
  abuses.add(1)
  if (verdict === 'deny') refused.add(1)
}

export const { teardown, handleSummary } = run
