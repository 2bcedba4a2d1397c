import type { Rule } from '../bucket/rule.ts'
import type { Check } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import type { MonotonicClock } from '../seams/clock.ts'
import { createLocalBuckets } from './local-buckets.ts'

/** What to do when no limiter answers. */
export type FallbackPlan =
  /** A bucket for each client in this process; `maxClients` of them are remembered (default 100,000). */
  | { readonly kind: 'local'; readonly rule: Rule; readonly maxClients?: number }
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny' }

const MAX_CLIENTS = 100_000

export type Fallback = {
  readonly decide: (check: Check) => Decision
  /** Takes in what the limiter decided. */
  readonly learn: (check: Check, decision: Decision) => void
  /** Whether it decides about this client no worse than it would after another answer of the limiter. */
  readonly knows: (check: Check) => boolean
}

export const createFallback = (plan: FallbackPlan, monotonicClock: MonotonicClock): Fallback => {
  switch (plan.kind) {
    case 'local':
      return createLocalBuckets({ rule: plan.rule, maxClients: plan.maxClients ?? MAX_CLIENTS, monotonicClock })
    case 'allow':
    case 'deny': {
      const decision: Decision = {
        verdict: plan.kind,
        basis: 'store_unavailable',
        policy: policyName('fallback'),
      }
      return { decide: () => decision, learn: () => {}, knows: () => true }
    }
  }
}
