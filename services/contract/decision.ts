import type { Brand } from './brand.ts'

/** A policy's name as its file gives it. */
export type PolicyName = Brand<'PolicyName'>
export const policyName = (name: string) => name as PolicyName

/** The state of one bucket after a decision. Durations, never instants. */
export type Quota = {
  /** Tokens that the bucket holds when it is full. */
  readonly limit: number
  /** Whole tokens left. */
  readonly remaining: number
  /** Until the bucket is full if nobody takes from it, rounded up. */
  readonly resetAfterMs: number
  /** The refill is `refillTokens` every `refillPeriodMs`, spread evenly. */
  readonly refillTokens: number
  readonly refillPeriodMs: number
}

/** One variant for each state that exists: a quota is there exactly when somebody counted. */
export type Decision =
  | {
      readonly verdict: 'allow'
      readonly basis: 'bucket' | 'share'
      readonly policy: PolicyName
      readonly quota: Quota
    }
  | {
      readonly verdict: 'deny'
      readonly basis: 'bucket' | 'share'
      readonly policy: PolicyName
      readonly quota: Quota
      /** Until the bucket holds the cost if nobody takes from it, rounded up. */
      readonly retryAfterMs: number
    }
  | { readonly verdict: 'deny'; readonly basis: 'never_satisfiable'; readonly policy: PolicyName }
  | { readonly verdict: 'allow'; readonly basis: 'no_policy' | 'exempt' }
  | { readonly verdict: 'allow' | 'deny'; readonly basis: 'store_unavailable'; readonly policy: PolicyName }

export type Verdict = Decision['verdict']

/** What a policy in shadow would have said. */
export type ShadowVerdict = { readonly policy: PolicyName; readonly verdict: Verdict }

/** What a check is answered with. */
export type Answer = {
  readonly decision: Decision
  readonly shadows: readonly ShadowVerdict[]
  /** The request's id was granted before: nothing was charged this time. */
  readonly replayed?: boolean
}
