import type { Decision, PolicyName, Quota } from '../../contract/decision.ts'

/** Names are in lower case, as Node and HTTP/2 have them. */
export type Headers = Readonly<Record<string, string>>

/** Of a structured field's Integer (RFC 9651). */
const MAX_INTEGER = 999_999_999_999_999

/**
 * What a response says of the quota: the three `RateLimit-*` fields, and beside them `RateLimit` and `RateLimit-Policy`
 * as draft-ietf-httpapi-ratelimit-headers-11 has them. All of it is about the one policy of the decision; empty when
 * nobody counted.
 */
export const rateLimitHeaders = (decision: Decision): Headers => {
  switch (decision.basis) {
    case 'bucket':
    case 'share':
      return decision.verdict === 'allow'
        ? quotaHeaders(decision.policy, decision.quota)
        : refusedHeaders(decision.policy, decision.quota, retryAfterS(decision.retryAfterMs))
    case 'never_satisfiable':
    case 'no_policy':
    case 'exempt':
    case 'store_unavailable':
      return {}
  }
}

/** The seconds of a `Retry-After`: never 0, which would ask for a request at once. */
export const retryAfterS = (retryAfterMs: number) => Math.max(1, seconds(retryAfterMs))

/** The body of a 429: one key, and a text that holds the `Retry-After`. */
export const limitExceededBody = (waitS: number) =>
  JSON.stringify({ error: `Rate limit exceeded: retry after ${waitS} ${waitS === 1 ? 'second' : 'seconds'}.` })

const quotaHeaders = (policy: PolicyName, quota: Quota): Headers => {
  const limit = integer(quota.limit)
  const remaining = Math.min(integer(quota.remaining), limit)
  return fields({ policy, quota, limit, remaining, resetS: seconds(quota.resetAfterMs), windowS: nextTokenS(quota) })
}

const refusedHeaders = (policy: PolicyName, quota: Quota, waitS: number): Headers => ({
  ...fields({
    policy,
    quota,
    limit: integer(quota.limit),
    remaining: 0,
    resetS: Math.max(seconds(quota.resetAfterMs), waitS),
    windowS: waitS,
  }),
  'retry-after': String(waitS),
})

type Fields = {
  readonly policy: PolicyName
  readonly quota: Quota
  readonly limit: number
  readonly remaining: number
  readonly resetS: number
  readonly windowS: number
}

const fields = ({ policy, quota, limit, remaining, resetS, windowS }: Fields): Headers => {
  const name = structuredString(policy)
  return {
    'ratelimit-limit': String(limit),
    'ratelimit-remaining': String(remaining),
    'ratelimit-reset': String(resetS),
    ratelimit: `${name};r=${remaining};t=${windowS}`,
    'ratelimit-policy': `${name};q=${limit}${windowOf(quota)}`,
  }
}

/**
 * `t` is the time in which a client can use no more than what remains, so it ends with the next token and not with a full
 * bucket: a client that has one request left of sixty need not stretch it over the minute.
 */
const nextTokenS = ({ limit, remaining, resetAfterMs, refillTokens, refillPeriodMs }: Quota) =>
  refillTokens === 0 ? 0 : seconds(resetAfterMs - ((limit - remaining - 1) * refillPeriodMs) / refillTokens)

/**
 * `w` is the time in which an empty bucket fills; it is rounded, so `refill` tokens in `period` seconds say it exactly
 * (our own parameters: a client may ignore them).
 */
const windowOf = ({ limit, refillTokens, refillPeriodMs }: Quota) => {
  if (refillTokens === 0 || refillPeriodMs === 0) return ''
  const fillS = Math.max(1, seconds((limit * refillPeriodMs) / refillTokens))
  return `;w=${fillS};refill=${integer(refillTokens)};period=${integer(refillPeriodMs) / 1000}`
}

const seconds = (milliseconds: number) => integer(milliseconds / 1000)

/** A whole number that a header can hold, rounded up. */
const integer = (value: number) => Math.min(Math.max(0, Math.ceil(value)), MAX_INTEGER)

/** Longer than any policy's name is. */
const MAX_NAME_LENGTH = 64

/** A String of a structured field. What it cannot hold, which no policy's name has, becomes a question mark. */
const structuredString = (text: string) =>
  `"${text
    .slice(0, MAX_NAME_LENGTH)
    .replace(/[^ -~]/g, '?')
    .replace(/["\\]/g, '\\$&')}"`
