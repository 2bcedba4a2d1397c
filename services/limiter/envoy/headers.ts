import type { Decision, Quota } from '../../contract/decision.ts'
import type { RateLimitResponse } from '../../wire/rate-limit-response.ts'

type Header = { readonly key: string; readonly value: string }
type Headers = NonNullable<RateLimitResponse['responseHeadersToAdd']>

/** What a refused client is told. */
export type Explained = Pick<RateLimitResponse, 'responseHeadersToAdd' | 'rawBody'>

const header = (key: string, value: number | string): Header => ({ key, value: String(value) })

/** The three that envoyproxy/ratelimit can add too. */
export const quotaHeaders = ({ quota }: { readonly quota: Quota }): Headers => [
  header('ratelimit-limit', quota.limit),
  header('ratelimit-remaining', quota.remaining),
  header('ratelimit-reset', seconds(quota.resetAfterMs)),
]

/** What a client is told that is refused until a time: the headers, and the body of the 429. */
export const limitExceeded = (decision: { readonly quota: Quota }, retryAfterMs: number): Explained => {
  const waitS = Math.max(1, seconds(retryAfterMs))
  return {
    responseHeadersToAdd: [...quotaHeaders(decision), header('retry-after', waitS), JSON_TYPE],
    rawBody: body(`Rate limit exceeded: retry after ${waitS} ${waitS === 1 ? 'second' : 'seconds'}.`),
  }
}

/** And one that no wait helps, as far as anybody knows. */
export const uncountedBody = (refused: readonly Decision[]): Explained => ({
  responseHeadersToAdd: [JSON_TYPE],
  rawBody: body(
    refused.some(({ basis }) => basis === 'store_unavailable')
      ? 'The limit cannot be counted now, and nobody passes without it.'
      : 'No such request passes this limit.',
  ),
})

const JSON_TYPE = header('content-type', 'application/json')

const body = (error: string) => Buffer.from(JSON.stringify({ error }))

const seconds = (milliseconds: number) => Math.ceil(milliseconds / 1000)
