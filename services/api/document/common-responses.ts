import { STATUS_CODES } from 'node:http'
import { type ErrorCode, errorCodes } from '../http/error-codes.ts'
import { describeCodes, errorSchema } from '../http/error-responses.ts'

/** Header fields that answers of several routes have, by name. */
export const commonHeaders = {
  'RateLimit-Limit': {
    description: 'How many requests at once the policy that limits the caller most lets in.',
    schema: { type: 'integer', minimum: 1 },
  },
  'RateLimit-Remaining': { description: 'How many of them are left.', schema: { type: 'integer', minimum: 0 } },
  'RateLimit-Reset': {
    description: 'Seconds until all of them are there again.',
    schema: { type: 'integer', minimum: 0 },
  },
  RateLimit: {
    description: 'The same as a structured field: `"policy";r=<remaining>;t=<seconds until one more>`.',
    schema: { type: 'string' },
  },
  'RateLimit-Policy': {
    description: 'The policy as a structured field: `"policy";q=<limit>;w=<seconds to fill>`.',
    schema: { type: 'string' },
  },
  'Retry-After': {
    required: true,
    description: 'Seconds to wait before the next attempt.',
    schema: { type: 'integer', minimum: 1 },
  },
  'WWW-Authenticate': {
    required: true,
    description: 'The scheme to authenticate with.',
    schema: { type: 'string', const: 'Bearer' },
  },
  Allow: { required: true, description: 'The methods that the path answers.', schema: { type: 'string' } },
} as const

type HeaderName = keyof typeof commonHeaders

const quotaNames = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const satisfies HeaderName[]
const quotaFields = ['RateLimit', 'RateLimit-Policy'] as const satisfies HeaderName[]

const refer = (...names: readonly HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const errorResponse = (code: ErrorCode, headers: Readonly<Record<string, object>> = {}) => ({
  description: describeCodes([code]),
  headers: { ...refer(...quotaNames, ...quotaFields), ...headers },
  content: { 'application/json': { schema: errorSchema([code]) } },
})

const tooManyRequests = {
  description: 'The rate limit is exceeded. What is refused costs nothing.',
  headers: {
    ...refer('Retry-After', ...quotaFields),
    ...Object.fromEntries(quotaNames.map((name) => [name, { ...commonHeaders[name], required: true }])),
  },
  content: {
    'application/json': {
      schema: {
        type: 'object',
        required: ['error'],
        properties: { error: { type: 'string', description: 'Says how many seconds to wait, for a person to read.' } },
        additionalProperties: false,
      },
      example: { error: 'Rate limit exceeded: retry after 7 seconds.' },
    },
  },
} as const

/** What every route can answer, and all alike. */
const everywhere = {
  RequestTimeout: errorResponse('request_timeout'),
  UrlTooLong: errorResponse('url_too_long'),
  ExpectationFailed: errorResponse('expectation_failed'),
  TooManyRequests: tooManyRequests,
  HeadersTooLarge: errorResponse('headers_too_large'),
  InternalError: errorResponse('internal_error'),
}
