import { LRUCache } from 'lru-cache'
import { type Bucket, charge, holds, refill, tokensLeft, untilFullUs, untilHoldsUs } from '../bucket/bucket.ts'
import { makeRule, type Rule } from '../bucket/rule.ts'
import type { Check } from '../contract/check.ts'
import { type Decision, type PolicyName, policyName, type Quota } from '../contract/decision.ts'
import type { MonotonicClock } from '../seams/clock.ts'
import { questionKey } from './check-key.ts'

const LOCAL_POLICY = policyName('local-fallback')

/** The policies of one client that are remembered; beyond it, the one that was reported longest ago goes. */
const MAX_POLICIES = 8

/** What may be remembered of clients, and of questions that are not limited; beyond it, the one used longest ago goes. */
const MAX_BYTES = 64 * 1024 * 1024
/** About what is remembered of a client beside its key, which holds what requests make up, and each report. */
const CLIENT_BYTES = 200
const REPORT_BYTES = 300
const bytesOf = (key: string) => key.length * 2

/** What the limiter last reported of a policy for one client, and the bucket as it stood then, at least as full as it was. */
type Report = { readonly policy: PolicyName; readonly quota: Quota; readonly rule: Rule; readonly bucket: Bucket }

/** What is known of a client: its numbers, from the reports, and its bucket here, absent while it is full. */
type Client = { readonly reports: readonly Report[]; readonly rule: Rule; readonly bucket: Bucket | undefined }

type Counted = Extract<Decision, { basis: 'bucket' | 'share' }>
type Unlimited = Extract<Decision, { basis: 'exempt' | 'no_policy' }>

export type LocalBuckets = {
  readonly decide: (check: Check) => Decision
  /** Takes in what the limiter decided. */
  readonly learn: (check: Check, decision: Decision) => void
  /** Whether the limiter has reported anything that this check is decided by. */
  readonly knows: (check: Check) => boolean
}

type Options = { readonly rule: Rule; readonly maxClients: number; readonly monotonicClock: MonotonicClock }

/**
 * A bucket for each client in this process, for as long as no limiter answers. Its numbers are the largest that the limiter
 * last reported for a policy of that client, and the configured ones for a client that it has reported nothing of. It misses
 * at least what the fullest of the reported buckets misses, so that an outage is nothing to provoke. A question that the
 * limiter does not limit is not limited here. So whoever keeps to the limiter's numbers is never refused here, whatever
 * part of the requests is decided here: a part of a flow that fits a bucket fits it too.
 */
export const createLocalBuckets = ({ rule, maxClients, monotonicClock }: Options): LocalBuckets => {
  const clients = new LRUCache<string, Client>({
    max: maxClients,
    maxSize: MAX_BYTES,
    sizeCalculation: ({ reports }, key) => CLIENT_BYTES + REPORT_BYTES * reports.length + bytesOf(key),
  })
  const unlimited = new LRUCache<string, Unlimited>({
    max: maxClients,
    maxSize: MAX_BYTES,
    sizeCalculation: (_, key) => CLIENT_BYTES + bytesOf(key),
  })
  const stranger: Client = { reports: [], rule, bucket: undefined }

  const take = (check: Check): Counted => {
    const key = clientKey(check)
    const client = clients.get(key) ?? stranger
    // What the policy allows is not known here: a full bucket serves any cost, so nobody is refused for good.
    const cost = Math.min(check.cost, client.rule.capacityTokens)
    const nowUs = monotonicClock.monotonicUs()
    const here = refill(client.bucket, client.rule, nowUs)
    const before = { ...here, deficitNano: Math.max(here.deficitNano, reportedDeficitNano(client, nowUs)) }
    const held = holds(before, client.rule, cost)
    const bucket = held ? charge(before, cost) : before
    clients.set(key, { ...client, bucket })
    const counted = { basis: 'share', policy: LOCAL_POLICY, quota: quotaOf(bucket, client.rule) } as const
    if (held) return { verdict: 'allow', ...counted }
    const retryAfterMs = Math.ceil(untilHoldsUs(bucket, client.rule, cost) / 1000)
    return { verdict: 'deny', ...counted, retryAfterMs }
  }

  const learnQuota = (check: Check, { basis, policy, quota }: Counted) => {
    const key = clientKey(check)
    const client = clients.get(key) ?? stranger
    const known = client.reports.find((report) => report.policy === policy)
    // A limiter's share of a bucket says less than the bucket did.
    if (known !== undefined && basis === 'share') return
    const rule = known !== undefined && isSame(known.quota, quota) ? known.rule : ruleOf(quota)
    if (rule === undefined) return
    const report = { policy, quota, rule, bucket: bucketOf(quota, monotonicClock.monotonicUs()) }
    const isOnly = known !== undefined && client.reports.length === 1
    const reports = isOnly
      ? [report]
      : [...client.reports.filter((other) => other !== known), report].slice(-MAX_POLICIES)
    clients.set(key, { reports, rule: isOnly ? rule : (largest(reports) ?? rule), bucket: client.bucket })
  }

  return {
    knows: (check) =>
      (clients.peek(clientKey(check))?.reports.length ?? 0) > 0 || unlimited.peek(questionKey(check)) !== undefined,
    decide: (check) => (unlimited.size === 0 ? undefined : unlimited.get(questionKey(check))) ?? take(check),
    learn: (check, decision) => {
      switch (decision.basis) {
        case 'bucket':
        case 'share':
          if (unlimited.size > 0) unlimited.delete(questionKey(check))
          return learnQuota(check, decision)
        case 'exempt':
        case 'no_policy':
          unlimited.set(questionKey(check), decision)
          return
        case 'never_satisfiable':
        case 'store_unavailable':
          return
      }
    },
  }
}

const isSame = (a: Quota, b: Quota) =>
  a.limit === b.limit && a.refillTokens === b.refillTokens && a.refillPeriodMs === b.refillPeriodMs

/** Nothing when the numbers are none that a bucket can have. */
const ruleOf = (quota: Quota): Rule | undefined => {
  const made = makeRule(quota.limit, quota.refillTokens * 1000, quota.refillPeriodMs)
  return made.ok ? made.rule : undefined
}

/** The time until it is full was rounded up to a millisecond; what flows in during that one is not counted as missing. */
const bucketOf = ({ resetAfterMs, refillTokens, refillPeriodMs }: Quota, nowUs: number): Bucket => ({
  deficitNano: Math.floor((Math.max(0, resetAfterMs - 1) * refillTokens * 1e9) / refillPeriodMs),
  atUs: nowUs,
})

/** Of the fullest: the others may be of policies that do not match this request. */
const reportedDeficitNano = ({ reports }: Client, nowUs: number) =>
  reports.length === 0 ? 0 : Math.min(...reports.map(({ bucket, rule }) => refill(bucket, rule, nowUs).deficitNano))

/** The largest capacity and the largest rate: each pair of these is a rule within the limits if its sources are. */
const largest = (reports: readonly Report[]): Rule | undefined =>
  reports.reduce<Rule | undefined>((most, { rule }) => {
    if (most === undefined) return rule
    const faster = rule.refillTokens / rule.periodS > most.refillTokens / most.periodS ? rule : most
    const capacityTokens = Math.max(most.capacityTokens, rule.capacityTokens)
    return { capacityTokens, refillTokens: faster.refillTokens, periodS: faster.periodS }
  }, undefined)

const quotaOf = (bucket: Bucket, rule: Rule): Quota => ({
  limit: rule.capacityTokens,
  remaining: tokensLeft(bucket, rule),
  resetAfterMs: Math.ceil(untilFullUs(bucket, rule) / 1000),
  refillTokens: rule.refillTokens,
  refillPeriodMs: rule.periodS * 1000,
})

/** The attribute `client` names the client; where a domain has none, everything that is known of the request does. */
const clientKey = (check: Check) => {
  const client = check.attributes.get('client')
  return client === undefined ? questionKey(check) : `c${check.domain.length}:${check.domain}${client}`
}
