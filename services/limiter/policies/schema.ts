import { z } from 'zod'
import { parseRefill } from '../../bucket/refill.ts'
import { checkLimits, domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import type { Condition, Pattern } from '../core/policy.ts'

/** Each name of a policy becomes a metric label. */
const MAX_POLICIES = 1_000
const MAX_OVERRIDES = 10_000

const fitsAttribute = (value: string) => Buffer.byteLength(value) <= checkLimits.attributeBytes
const TOO_LONG = `is longer than ${checkLimits.attributeBytes} bytes, as no attribute is: shorten it`

/** The message for a value that is not what it must be, and for one that is not there. */
const expecting = (expected: string, remedy: string) => ({
  error: ({ input }: { readonly input?: unknown }) => {
    if (input === undefined) return `is missing: ${remedy}`
    if (input === null) return `is empty: ${remedy}`
    return `must be ${expected}: ${remedy}`
  },
})

const text = (remedy: string) =>
  z.string({
    error: (issue) =>
      typeof issue.input === 'number' || typeof issue.input === 'boolean'
        ? `is a ${typeof issue.input}, not a text: put it in quotes`
        : expecting('a text', remedy).error(issue),
  })

const attributeName = text('write the name of an attribute, as in client')
  .min(1, 'is an empty name: write the name of an attribute, as in client')
  .refine(fitsAttribute, TOO_LONG)

/** A `*` ends a prefix. */
const pattern = text('write a value, as in free')
  .refine(
    (value) => !value.slice(0, -1).includes('*'),
    'has a * before its end: only a * at the end stands for any rest',
  )
  .refine(fitsAttribute, TOO_LONG)
  .transform(
    (value): Pattern =>
      value.endsWith('*') ? { kind: 'prefix', value: value.slice(0, -1) } : { kind: 'exact', value },
  )

const patterns = z.union([
  z.array(pattern).min(1, 'is an empty list, which nothing matches: write a value'),
  pattern.transform((one): Pattern[] => [one]),
])

const conditions = z
  .record(attributeName, patterns, expecting('a mapping', 'map attributes to values, as in { plan: free }'))
  .transform((record): readonly Condition[] =>
    Object.entries(record).map(([attribute, anyOf]) => ({ attribute, anyOf })),
  )

const capacity = z.number(expecting('a number', 'write how many tokens a full bucket holds, as in 60, without quotes'))

const refill = z
  .string(expecting('tokens in a time', 'write how fast a bucket refills, as in 5/s'))
  .transform((written, context) => {
    const parsed = parseRefill(written)
    if (parsed.ok) return { refillTokens: parsed.refillTokens, periodS: parsed.periodS }
    context.issues.push({ code: 'custom', message: parsed.problem, input: written })
    return z.NEVER
  })

export type Refill = z.output<typeof refill>

export const POLICY_NAME = /^[a-z][a-z0-9-]{0,63}$/

const name = text('name the policy, as in per-client')
  .regex(POLICY_NAME, 'must be 1 to 64 of a-z, 0-9 and -, a letter first: it is written into metrics and headers')
  .transform(policyName)

/** Fields of a mapping: all of them strictly, and those that can be read where others cannot. */
const fields = <Shape extends z.ZodRawShape>(shape: Shape, error: string) => {
  const strict = z.strictObject(shape, { error: `must be a mapping: ${error}` })
  return { names: Object.keys(shape), strict, legible: strict.partial() }
}

const TRUE_OR_FALSE = 'must be true or false, without quotes'

const replaced = z.array(
  text('name a policy, as in per-client').transform(policyName),
  expecting('a list', 'list the names of policies, as in [per-client]'),
)

const head = { name, match: conditions.optional(), unless: conditions.optional(), replaces: replaced.optional() }

export const countingFields = fields(
  {
    ...head,
    by: z
      .array(attributeName, expecting('a list', 'list attributes, as in [client]'))
      .max(checkLimits.attributes, `has more than the ${checkLimits.attributes} attributes of a request: shorten it`)
      .optional(),
    capacity,
    refill,
    onStoreFailure: z.enum(['share', 'allow', 'deny'], 'must be share, allow or deny').optional(),
    mode: z.enum(['enforce', 'shadow'], 'must be enforce or shadow').optional(),
    exempt: z.literal(false, TRUE_OR_FALSE).optional(),
    block: z.literal(false, TRUE_OR_FALSE).optional(),
  },
  'write a policy with a name, a capacity and a refill',
)

export const exemptFields = fields(
  { ...head, exempt: z.literal(true, TRUE_OR_FALSE) },
  'write a policy with a name, a match and exempt: true',
)

export const blockFields = fields(
  { ...head, block: z.literal(true, TRUE_OR_FALSE) },
  'write a policy with a name, a match and block: true',
)

/** Other fields of an override are attributes. */
export const overrideFields = fields(
  { policy: text('name the policy whose numbers change'), capacity: capacity.optional(), refill: refill.optional() },
  'write a policy, the values of its buckets, and a capacity, a refill or both',
)

const overrideValue = text('write the value whose bucket gets other numbers')
  .refine((value) => !value.includes('*'), 'has a *: an override is for one value, written out')
  .refine(fitsAttribute, TOO_LONG)

export const overrideValues = z.record(z.string(), overrideValue)

const domain = text('name the API, as in api')
  .regex(/^[^\s\p{Cc}\p{Cs}\uFFFD]+$/u, 'must be a name without spaces, as in api')
  .refine(
    (value) => Buffer.byteLength(value) <= checkLimits.domainBytes,
    `is longer than ${checkLimits.domainBytes} bytes: shorten it`,
  )
  .transform(domainName)

const items = (remedy: string) => z.array(z.unknown(), expecting('a list', remedy))

export const documentFields = fields(
  {
    domain,
    subject: attributeName,
    policies: items('list the policies of the domain, [] for none').max(
      MAX_POLICIES,
      `has more than ${MAX_POLICIES} policies: count by an attribute instead of writing a policy for each value`,
    ),
    overrides: items('list the overrides, or remove the field')
      .max(
        MAX_OVERRIDES,
        `has more than ${MAX_OVERRIDES} overrides: match groups of clients by an attribute, as in plan`,
      )
      .optional(),
  },
  'write a domain, its subject and its policies',
)
