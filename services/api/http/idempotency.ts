import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { apiError, withHeaders } from './api-error.ts'

export const idempotencyKey = Type.Optional(
  Type.String({
    pattern: '^[!-~]{1,255}$',
    description:
      '1 to 255 visible ASCII characters of the client’s choice, such as a UUID. A request that is sent again with the same key within 24 hours gets the response of the first one, and nothing is created twice.',
  }),
)

/** Equal for requests that ask for the same. */
export const fingerprint = (route: string, request: unknown) =>
  createHash('sha256')
    .update(JSON.stringify([route, request]))
    .digest('base64url')

export const keyInUse = () =>
  withHeaders(
    apiError(409, 'idempotency_key_in_use', 'A request with this Idempotency-Key is still running.', 'idempotency-key'),
    { 'retry-after': '1' },
  )

export const keyReused = () =>
  apiError(
    422,
    'idempotency_key_reused',
    'This Idempotency-Key has been used for a request with another body.',
    'idempotency-key',
  )
