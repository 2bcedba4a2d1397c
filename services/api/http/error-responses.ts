import { Type } from 'typebox'
import { type ErrorCode, errorCodes } from './error-codes.ts'

/** What any request can meet. The 429 stands for itself. */
const everywhere = [
  'malformed_request',
  'malformed_url',
  'host_required',
  'repeated_field',
  'unknown_field',
  'credential_invalid',
  'rate_limit_never_satisfiable',
  'url_too_long',
  'headers_too_large',
  'internal_error',
  'rate_limit_unavailable',
  'database_unavailable',
] as const satisfies readonly ErrorCode[]

/** The responses of a route that tell of an error, by status, for the document. */
export const errorResponses = (...codes: readonly ErrorCode[]) => {
  const byStatus = Map.groupBy([...everywhere, ...codes], (code) => errorCodes[code].status)
  return {
    ...Object.fromEntries([...byStatus].map(([status, each]) => [status, errorResponse(each)])),
    429: tooManyRequests,
  }
}

const errorResponse = (codes: readonly ErrorCode[]) =>
  Type.Object(
    {
      error: Type.Object({
        code: Type.String({ enum: [...codes], description: 'Stable.' }),
        message: Type.String({ description: 'For a person to read; may be reworded.' }),
        field: Type.Optional(Type.String({ description: 'The dotted path of the offending input.' })),
      }),
    },
    { description: codes.map((code) => `\`${code}\`: ${errorCodes[code].description}`).join('\n\n') },
  )

const tooManyRequests = {
  ...Type.Object({ error: Type.String() }, { description: 'The rate limit is exceeded.' }),
  headers: {
    'Retry-After': Type.Integer({ minimum: 1, description: 'Seconds after which a request is let in.' }),
  },
}
