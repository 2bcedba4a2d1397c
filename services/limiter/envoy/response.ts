import type { Answer, Decision, Quota } from '../../contract/decision.ts'
import type { RateLimitResponse, RateLimitStatus } from '../../wire/rate-limit-response.ts'
import { type Explained, limitExceeded, quotaHeaders, uncountedBody } from './headers.ts'
import { unitOf } from './unit.ts'

/** Which responses tell the client of its quota: those of refused requests, all, or none. */
export type HeaderMode = 'refusals' | 'always' | 'never'

const MAX_UINT32 = 0xffff_ffff

/** One status for each answer, over the limit if one of them is. */
export const encodeResponse = (answers: readonly Answer[], mode: HeaderMode): RateLimitResponse => {
  const decisions = answers.map(({ decision }) => decision)
  const statuses = decisions.map(statusOf)
  const refused = decisions.filter(({ verdict }) => verdict === 'deny')
  if (refused.length === 0) {
    const tightest = mode === 'always' ? tightestOf(decisions) : undefined
    return {
      overallCode: 'OK',
      statuses,
      ...(tightest !== undefined && { responseHeadersToAdd: quotaHeaders(tightest) }),
    }
  }
  return { overallCode: 'OVER_LIMIT', statuses, ...(mode !== 'never' && explain(refused)) }
}

/** Answers to a domain that nobody has policies for: Envoy's requests pass. */
export const encodeUnlimited = (count: number): RateLimitResponse => ({
  overallCode: 'OK',
  statuses: Array.from({ length: count }, (): RateLimitStatus => ({ code: 'OK' })),
})

const statusOf = (decision: Decision): RateLimitStatus => {
  const code = decision.verdict === 'allow' ? 'OK' : 'OVER_LIMIT'
  switch (decision.basis) {
    case 'bucket':
    case 'share': {
      const { policy, quota } = decision
      return {
        code,
        currentLimit: { name: policy, requestsPerUnit: quota.limit, unit: unitOf(fillMs(quota)) },
        limitRemaining: quota.remaining,
        durationUntilReset: { seconds: Math.ceil(quota.resetAfterMs / 1000) },
      }
    }
    case 'exempt':
      return { code, limitRemaining: MAX_UINT32 }
    case 'never_satisfiable':
    case 'no_policy':
    case 'store_unavailable':
      return { code }
  }
}

const fillMs = ({ limit, refillTokens, refillPeriodMs }: Quota) => (limit * refillPeriodMs) / refillTokens

type Counted = Extract<Decision, { readonly quota: Quota }>

const counted = (decisions: readonly Decision[]) =>
  decisions.flatMap((decision): readonly Counted[] => ('quota' in decision ? [decision] : []))

const tightestOf = (decisions: readonly Decision[]) =>
  counted(decisions).reduce<Counted | undefined>(
    (least, one) => (least === undefined || share(one) < share(least) ? one : least),
    undefined,
  )

const share = ({ quota }: Counted) => quota.remaining / quota.limit

/** The longest wait is what the client is told: it is let in after that, and not before. */
const explain = (refused: readonly Decision[]): Explained => {
  const curable = counted(refused).flatMap((decision) => (decision.verdict === 'deny' ? [decision] : []))
  const [slowest] = curable.toSorted((a, b) => b.retryAfterMs - a.retryAfterMs)
  // Where one of them no wait can cure, a time to come back would be a lie.
  if (slowest === undefined || curable.length < refused.length) return uncountedBody(refused)
  return limitExceeded(slowest, slowest.retryAfterMs)
}
