import fc from 'fast-check'
import { type Answer, type Decision, policyName, type Quota } from './decision.ts'

const anyWhole = fc.oneof(fc.nat({ max: 3 }), fc.nat({ max: 100_000 }), fc.maxSafeNat())

const anyPolicyName = fc.oneof(fc.constantFrom('per-client', 'writes'), fc.string({ unit: 'grapheme' })).map(policyName)

/** Every quota that the types and the wire can hold, also those that no bucket has. */
export const anyQuota: fc.Arbitrary<Quota> = fc.record({
  limit: anyWhole,
  remaining: anyWhole,
  resetAfterMs: anyWhole,
  refillTokens: anyWhole,
  refillPeriodMs: anyWhole,
})

export const anyDecision: fc.Arbitrary<Decision> = fc.oneof(
  fc.record({
    verdict: fc.constant('allow'),
    basis: fc.constantFrom('bucket', 'share'),
    policy: anyPolicyName,
    quota: anyQuota,
  }),
  fc.record({
    verdict: fc.constant('deny'),
    basis: fc.constantFrom('bucket', 'share'),
    policy: anyPolicyName,
    quota: anyQuota,
    retryAfterMs: anyWhole,
  }),
  fc.record({ verdict: fc.constant('deny'), basis: fc.constant('never_satisfiable'), policy: anyPolicyName }),
  fc.record({ verdict: fc.constant('allow'), basis: fc.constantFrom('no_policy', 'exempt') }),
  fc.record({
    verdict: fc.constantFrom('allow', 'deny'),
    basis: fc.constant('store_unavailable'),
    policy: anyPolicyName,
  }),
)

export const anyAnswer: fc.Arbitrary<Answer> = fc.record({
  decision: anyDecision,
  shadows: fc.array(fc.record({ policy: anyPolicyName, verdict: fc.constantFrom('allow', 'deny') }), { maxLength: 5 }),
})
