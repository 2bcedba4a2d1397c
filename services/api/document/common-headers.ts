/** Header fields that the answers of several routes have. */
export const commonHeaders = {
  'RateLimit-Limit': {
    description: 'How many requests at once are let in by the policy that has least left for the caller.',
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
  Allow: {
    required: true,
    description: 'The methods that the path answers, by comma.',
    schema: { type: 'string' },
  },
} as const

export type CommonHeader = keyof typeof commonHeaders

export const referToHeaders = (...names: readonly CommonHeader[]): Readonly<Record<string, object>> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

const quotaNames = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset'] as const
const structuredNames = ['RateLimit', 'RateLimit-Policy'] as const

/** Of an answer to what some policy limits. */
export const quotaHeaders = referToHeaders(...quotaNames, ...structuredNames)

/** Of a refusal, which only a policy makes. */
export const refusalHeaders: Readonly<Record<string, object>> = {
  ...referToHeaders('Retry-After', ...structuredNames),
  ...Object.fromEntries(quotaNames.map((name) => [name, { ...commonHeaders[name], required: true }])),
}
