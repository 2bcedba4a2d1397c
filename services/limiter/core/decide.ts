import { untilFullUs, untilHoldsNanoUs } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Answer, Decision, Quota, ShadowVerdict } from '../../contract/decision.ts'
import type { Matched } from './match.ts'
import type { Reading, TakeOutcome } from './store.ts'
import { shareLeft, stretchedNano } from './stretched.ts'

type Judged = Matched & { readonly reading: Reading }
type Counted = Extract<TakeOutcome, { kind: 'counted' }>

const NO_SHADOWS: readonly ShadowVerdict[] = []

/** Turns what the store said of the buckets asked (one reading for each of `matched`) into an answer. */
export const decide = (matched: readonly Matched[], costTokens: number, outcome: Counted): Answer => {
  const decision = outcome.granted ? decideGranted(matched, outcome) : decideRefused(matched, outcome, costTokens)
  const shadows = matched.every(isEnforced) ? NO_SHADOWS : shadowVerdicts(matched, outcome)
  return outcome.replayed ? { decision, shadows, replayed: true } : { decision, shadows }
}

const isEnforced = ({ asked }: Matched) => asked.enforced

const shadowVerdicts = (matched: readonly Matched[], { readings }: Counted) =>
  matched.flatMap(({ policy, asked }, index): readonly ShadowVerdict[] => {
    const reading = readings[index]
    if (asked.enforced || reading === undefined) return []
    return [{ policy: policy.name, verdict: reading.held ? 'allow' : 'deny' }]
  })

/** A pass reports the bucket with the smallest remaining/limit. */
const decideGranted = (matched: readonly Matched[], { basis, readings }: Counted): Decision => {
  const tightest = firstOfLeast(matched, readings, (reading, rule) => shareLeft(reading, rule) / rule.capacityTokens)
  // Every policy that matches is in shadow: nothing limits the request.
  if (tightest === undefined) return { verdict: 'allow', basis: 'no_policy' }
  return { verdict: 'allow', basis, policy: tightest.policy.name, quota: quotaOf(tightest) }
}

/** A refusal reports the bucket with the longest wait. */
const decideRefused = (matched: readonly Matched[], { basis, readings }: Counted, costTokens: number): Decision => {
  const waitUs = ({ bucket, stretch }: Reading, rule: Rule) =>
    untilHoldsNanoUs(bucket, rule, stretchedNano(costTokens, rule, stretch))
  const slowest = firstOfLeast(matched, readings, (reading, rule) =>
    reading.held ? undefined : -waitUs(reading, rule),
  )
  if (slowest === undefined) throw new Error('a store refused a take that every enforced bucket holds')
  const retryAfterMs = Math.ceil(waitUs(slowest.reading, slowest.asked.rule) / 1000)
  return { verdict: 'deny', basis, policy: slowest.policy.name, quota: quotaOf(slowest), retryAfterMs }
}

/** Of the enforced buckets that have a value the first with the least. */
const firstOfLeast = (
  matched: readonly Matched[],
  readings: readonly Reading[],
  rank: (reading: Reading, rule: Rule) => number | undefined,
): Judged | undefined => {
  let first: Judged | undefined
  let least = Number.POSITIVE_INFINITY
  for (let index = 0; index < matched.length; index += 1) {
    const [one, reading] = [matched[index], readings[index]]
    if (one === undefined || reading === undefined || !one.asked.enforced) continue
    const value = rank(reading, one.asked.rule)
    if (value === undefined || value >= least) continue
    least = value
    first = { policy: one.policy, asked: one.asked, reading }
  }
  return first
}

/** Nothing was counted: the strictest of what the policies say then. */
export const decideUncounted = (matched: readonly Matched[]): Decision => {
  const enforced = matched.filter(({ asked }) => asked.enforced)
  const decisive = enforced.find(({ policy }) => policy.onStoreFailure === 'deny') ?? enforced[0]
  if (decisive === undefined) return { verdict: 'allow', basis: 'no_policy' }
  const { name, onStoreFailure } = decisive.policy
  return { verdict: onStoreFailure === 'deny' ? 'deny' : 'allow', basis: 'store_unavailable', policy: name }
}

const quotaOf = ({ asked, reading }: Judged): Quota => quota(asked.rule, reading)

export const quota = (rule: Rule, reading: Reading): Quota => ({
  limit: rule.capacityTokens,
  remaining: shareLeft(reading, rule),
  resetAfterMs: Math.ceil(untilFullUs(reading.bucket, rule) / 1000),
  refillTokens: rule.refillTokens,
  refillPeriodMs: rule.periodS * 1000,
})
