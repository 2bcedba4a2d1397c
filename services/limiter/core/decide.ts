import { untilFullUs, untilHoldsNanoUs } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Answer, Decision, Quota, ShadowVerdict } from '../../contract/decision.ts'
import type { Matched } from './match.ts'
import type { Reading, TakeOutcome } from './store.ts'
import { shareLeft, stretchedNano } from './stretched.ts'

type Judged = Matched & { readonly reading: Reading }
type Counted = Extract<TakeOutcome, { kind: 'counted' }>

/** Turns what the store said of the buckets asked (one reading for each of `matched`) into an answer. */
export const decide = (matched: readonly Matched[], costTokens: number, outcome: Counted): Answer => {
  const judged = pair(matched, outcome.readings)
  const enforced = judged.filter(({ asked }) => asked.enforced)
  const shadows = judged.filter(({ asked }) => !asked.enforced).map(shadowVerdict)
  const decision = outcome.granted
    ? decideGranted(enforced, outcome.basis)
    : decideRefused(enforced, outcome.basis, costTokens)
  return outcome.replayed ? { decision, shadows, replayed: true } : { decision, shadows }
}

const pair = (matched: readonly Matched[], readings: readonly Reading[]): readonly Judged[] => {
  const judged: Judged[] = []
  for (let index = 0; index < matched.length; index += 1) {
    const [one, reading] = [matched[index], readings[index]]
    if (one !== undefined && reading !== undefined) judged.push({ policy: one.policy, asked: one.asked, reading })
  }
  return judged
}

const shadowVerdict = ({ policy, reading }: Judged): ShadowVerdict => ({
  policy: policy.name,
  verdict: reading.held ? 'allow' : 'deny',
})

/** A pass reports the bucket with the smallest remaining/limit. */
const decideGranted = (enforced: readonly Judged[], basis: Counted['basis']): Decision => {
  const tightest = leastBy(enforced, ({ asked, reading }) => shareLeft(reading, asked.rule) / asked.rule.capacityTokens)
  // Every policy that matches is in shadow: nothing limits the request.
  if (tightest === undefined) return { verdict: 'allow', basis: 'no_policy' }
  return { verdict: 'allow', basis, policy: tightest.policy.name, quota: quotaOf(tightest) }
}

/** A refusal reports the bucket with the longest wait. */
const decideRefused = (enforced: readonly Judged[], basis: Counted['basis'], costTokens: number): Decision => {
  const waitUs = ({ asked: { rule }, reading: { bucket, stretch } }: Judged) =>
    untilHoldsNanoUs(bucket, rule, stretchedNano(costTokens, rule, stretch))
  const slowest = leastBy(
    enforced.filter(({ reading }) => !reading.held),
    (judged) => -waitUs(judged),
  )
  if (slowest === undefined) throw new Error('a store refused a take that every enforced bucket holds')
  const retryAfterMs = Math.ceil(waitUs(slowest) / 1000)
  return { verdict: 'deny', basis, policy: slowest.policy.name, quota: quotaOf(slowest), retryAfterMs }
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

/** The first of those with the least value. */
const leastBy = <T>(items: readonly T[], value: (item: T) => number) =>
  items.reduce<T | undefined>(
    (least, item) => (least === undefined || value(item) < value(least) ? item : least),
    undefined,
  )
