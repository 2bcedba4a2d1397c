import { type ParsedCheck, parseCheck } from '../contract/check.ts'
import { type PolicyName, policyName, type Quota } from '../contract/decision.ts'
import { decodeQuota } from './answer.ts'
import type { PeekResponse, PeekResponse__Output } from './gen/weir/v1/PeekResponse.ts'

/** The attributes of an operator's question: the check whose buckets it is about. */
export const decodeAdminCheck = (request: {
  readonly domain?: string
  readonly attributes?: Readonly<Record<string, string>>
}): ParsedCheck => parseCheck({ domain: request.domain ?? '', attributes: request.attributes ?? {}, cost: 0 })

type PolicyQuota = { readonly policy: PolicyName; readonly quota: Quota; readonly shadow: boolean }

export const encodeQuotas = (quotas: readonly PolicyQuota[]): PeekResponse => ({ quotas: [...quotas] })

export const decodeQuotas = ({ quotas }: PeekResponse__Output): readonly PolicyQuota[] =>
  quotas.map(({ policy, quota, shadow }) => ({
    policy: policyName(policy ?? ''),
    quota: decodeQuota(quota ?? {}),
    shadow: shadow ?? false,
  }))
