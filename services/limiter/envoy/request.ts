import { createHash } from 'node:crypto'
import { type CheckFault, checkLimits, domainName, invalid } from '../../contract/check.ts'
import type { RateLimitRequest__Output } from '../../wire/envoy-protocol.ts'
import { attributesOf } from '../core/descriptor.ts'
import type { JointCheck, JointPart } from '../core/joint-check.ts'
import { isUnit, ruleOf } from './unit.ts'

const MAX_DESCRIPTORS = 64
/** One attribute holds the shape. */
const MAX_ENTRIES = checkLimits.attributes - 1

export type ParsedRequest =
  | { readonly ok: true; readonly check: JointCheck }
  | { readonly ok: false; readonly fault: CheckFault }

type Descriptor = RateLimitRequest__Output['descriptors'][number]

/**
 * Each descriptor is a part of the check: its entries are attributes. What a client of Envoy can cause is never a fault, because Envoy
 * lets pass what a limiter cannot answer: a long value is shortened, broken text is kept as it was decoded.
 */
export const parseRequest = ({ domain = '', descriptors, hitsAddend = 0 }: RateLimitRequest__Output): ParsedRequest => {
  if (domain === '') return invalid('domain', 'is empty')
  if (descriptors.length === 0) return invalid('descriptors', 'is empty')
  if (descriptors.length > MAX_DESCRIPTORS)
    return invalid('descriptors', `has ${descriptors.length} of them; send at most ${MAX_DESCRIPTORS}`)
  const crowded = descriptors.findIndex(({ entries }) => entries.length > MAX_ENTRIES)
  if (crowded >= 0) return invalid(`descriptors[${crowded}].entries`, `are more than ${MAX_ENTRIES}`)
  // 0 is what proto3 has for a number that nobody set.
  const cost = hitsAddend === 0 ? 1 : hitsAddend
  const parts = descriptors.map((descriptor) => parsePart(descriptor, cost))
  return { ok: true, check: { domain: domainName(domain), parts } }
}

const parsePart = ({ entries, limit, hitsAddend }: Descriptor, requestCost: number): JointPart => {
  const attributes = attributesOf(entries.map(({ key = '', value = '' }) => ({ key, value: bounded(value) })))
  const cost = hitsAddend === undefined || hitsAddend === null ? requestCost : (hitsAddend.value ?? 0)
  const part = { attributes, cost: Math.min(cost, checkLimits.cost) }
  const { requestsPerUnit = 0, unit = '' } = limit ?? {}
  // Without a unit there are no numbers to go by: the policies hold.
  return isUnit(unit) ? { ...part, limit: ruleOf(requestsPerUnit, unit) } : part
}

/** So much of a long value stays legible, and can be matched. */
const KEPT_LENGTH = 300

/** As a bucket's name holds it: of a long value the beginning, and a digest of all of it. */
const bounded = (value: string) => {
  if (value.length * 3 <= checkLimits.attributeBytes || Buffer.byteLength(value) <= checkLimits.attributeBytes)
    return value
  return `${value.slice(0, KEPT_LENGTH)}#${createHash('sha256').update(value).digest('base64url')}`
}
