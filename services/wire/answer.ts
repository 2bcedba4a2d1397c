import { type Answer, type Decision, policyName, type Quota } from '../contract/decision.ts'
import type { Quota__Output } from './gen/weir/v1/Quota.ts'
import type { ShouldAllowResponse, ShouldAllowResponse__Output } from './gen/weir/v1/ShouldAllowResponse.ts'

export const encodeAnswer = ({ decision, shadows, replayed = false }: Answer): ShouldAllowResponse => ({
  ...encodeDecision(decision),
  ...(replayed && { replay: true }),
  shadow: shadows.map(({ policy, verdict }) => ({ policy, verdict: VERDICTS[verdict] })),
})

const VERDICTS = { allow: 'ALLOW', deny: 'DENY' } as const
const BASES = {
  bucket: 'BUCKET',
  share: 'SHARE',
  never_satisfiable: 'NEVER_SATISFIABLE',
  no_policy: 'NO_POLICY',
  exempt: 'EXEMPT',
  store_unavailable: 'STORE_UNAVAILABLE',
} as const satisfies Record<Decision['basis'], ShouldAllowResponse['basis']>

const encodeDecision = (decision: Decision): ShouldAllowResponse => {
  const head = { verdict: VERDICTS[decision.verdict], basis: BASES[decision.basis] }
  switch (decision.basis) {
    case 'bucket':
    case 'share': {
      const counted = { ...head, policy: decision.policy, quota: decision.quota }
      return decision.verdict === 'allow' ? counted : { ...counted, retryAfterMs: decision.retryAfterMs }
    }
    case 'never_satisfiable':
    case 'store_unavailable':
      return { ...head, policy: decision.policy }
    case 'no_policy':
    case 'exempt':
      return head
  }
}

/** `undefined` when the answer makes no sense to this version: the caller has no answer then. */
export const decodeAnswer = (response: ShouldAllowResponse__Output): Answer | undefined => {
  const decision = decodeDecision(response)
  if (decision === undefined) return undefined
  const shadows = response.shadow.map(({ policy, verdict }) => ({
    policy: policyName(policy ?? ''),
    verdict: verdict === 'DENY' ? ('deny' as const) : ('allow' as const),
  }))
  return response.replay === true ? { decision, shadows, replayed: true } : { decision, shadows }
}

const decodeDecision = (response: ShouldAllowResponse__Output): Decision | undefined => {
  const verdict = response.verdict === 'ALLOW' ? 'allow' : response.verdict === 'DENY' ? 'deny' : undefined
  if (verdict === undefined) return undefined
  const policy = policyName(response.policy ?? '')
  switch (response.basis) {
    case 'BUCKET':
    case 'SHARE': {
      if (response.quota === undefined) return undefined
      const basis = response.basis === 'BUCKET' ? 'bucket' : 'share'
      const quota = decodeQuota(response.quota)
      return verdict === 'allow'
        ? { verdict, basis, policy, quota }
        : { verdict, basis, policy, quota, retryAfterMs: response.retryAfterMs ?? 0 }
    }
    case 'NO_POLICY':
      return verdict === 'allow' ? { verdict, basis: 'no_policy' } : undefined
    case 'EXEMPT':
      return verdict === 'allow' ? { verdict, basis: 'exempt' } : undefined
    case 'STORE_UNAVAILABLE':
      return { verdict, basis: 'store_unavailable', policy }
    case 'NEVER_SATISFIABLE':
      return verdict === 'deny' ? { verdict, basis: 'never_satisfiable', policy } : undefined
  }
  // Unspecified, or a basis that a newer limiter knows.
  return undefined
}

// proto3 leaves a zero off the wire.
export const decodeQuota = (quota: Quota__Output): Quota => ({
  limit: quota.limit ?? 0,
  remaining: quota.remaining ?? 0,
  resetAfterMs: quota.resetAfterMs ?? 0,
  refillTokens: quota.refillTokens ?? 0,
  refillPeriodMs: quota.refillPeriodMs ?? 0,
})
