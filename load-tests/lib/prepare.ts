import { sleep } from 'k6'
import exec from 'k6/execution'
import type { Rule } from '../../services/bucket/rule.ts'
import { askApi } from './ask.ts'
import type { ProcessReading } from './process-reading.ts'
import { readProcesses } from './processes.ts'
import { announcedQuota, refillPerS } from './rate-limit-policy.ts'
import { apiKey, baseUrl } from './settings.ts'

/** What every caller is told when the run begins. */
export type Start = {
  readonly startMs: number
  readonly policy: string
  readonly rule: Rule
  readonly processes: readonly ProcessReading[]
}

/** What an API calls the bucket of its own, for as long as no limiter answers. */
const LOCAL_FALLBACK = 'local-fallback'

/** What the run will ask of one bucket. */
export type Demand = { readonly ratePerS: number; readonly durationS: number }

/**
 * Reads the limit from the installation and waits until the bucket is full again. Ends the run where it could not show what it
 * is for: nobody answers, nobody counts, somebody else spends the bucket's tokens, or the demand never empties it.
 */
export const prepareBucket = (demand?: Demand, key = apiKey): Start => {
  const { rule, policy, remaining } = firstQuota(key)
  if (policy === LOCAL_FALLBACK)
    exec.test.abort(
      'The API decided this alone: no limiter answered it. See its log and weir_api_limiter_failures_total.',
    )
  const missing = rule.capacityTokens - 1 - remaining
  if (missing > 0)
    exec.test.abort(
      `The bucket was not full: ${missing} of ${rule.capacityTokens} tokens were missing before the run. ` +
        `Wait ${Math.ceil(missing / refillPerS(rule))} s, or use a key that nobody else uses.`,
    )
  if (demand !== undefined) requireEnough(demand, rule)
  const processes = readProcesses()
  // The token that this question took.
  sleep(1 / refillPerS(rule) + 0.2)
  return { startMs: Date.now(), policy, rule, processes }
}

const firstQuota = (key: string | undefined) => {
  const { response } = askApi(key)
  const quota = announcedQuota(response.headers)
  if (response.status === 0) return exec.test.abort(`${baseUrl} does not answer: ${response.error}`) as never
  if (response.status === 401) return exec.test.abort('The API does not know API_KEY.') as never
  if (quota === undefined)
    return exec.test.abort(
      `${baseUrl} answers ${response.status} without RateLimit-Policy and RateLimit-Remaining: nobody counts this request.`,
    ) as never
  return quota
}

const requireEnough = ({ ratePerS, durationS }: Demand, rule: Rule) => {
  const lawful = rule.capacityTokens + refillPerS(rule) * durationS
  if (ratePerS * durationS >= 1.3 * lawful) return
  exec.test.abort(
    `${ratePerS} requests per second for ${durationS} s do not empty a bucket of ${rule.capacityTokens} tokens that gains ` +
      `${refillPerS(rule)} a second: set RATE=${Math.ceil((1.5 * lawful) / durationS)} or more.`,
  )
}
