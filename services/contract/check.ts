import type { Brand } from './brand.ts'

/** The name of a set of policies, one per API. */
export type DomainName = Brand<'DomainName'>
export const domainName = (name: string) => name as DomainName

/** What is known of a request: `client`, `plan`, `route`, … A Map, so that no name collides with an object's own members. */
export type Attributes = ReadonlyMap<string, string>

/** The question: may this request pass? */
export type Check = {
  readonly domain: DomainName
  readonly attributes: Attributes
  /** Whole tokens to take; 0 peeks. */
  readonly cost: number
  /** Set by the caller to make a retry safe: a grant under the same id is charged once. */
  readonly requestId?: string
}

/** Why a check has no answer. Not a refusal: the caller's question is at fault. */
export type CheckFault =
  | { readonly kind: 'invalid'; readonly field: string; readonly problem: string }
  | { readonly kind: 'unknown_domain'; readonly domain: string; readonly knownDomains: readonly string[] }

export const checkLimits = {
  domainBytes: 256,
  attributes: 32,
  attributeBytes: 1024,
  requestIdBytes: 128,
  cost: 0xffff_ffff,
} as const

/** A check as it arrives, before anything of it is believed. */
export type UncheckedCheck = {
  readonly domain: string
  readonly attributes: Readonly<Record<string, string>> | Attributes
  readonly cost: number | undefined
  /** Absent or empty: none. */
  readonly requestId?: string | undefined
}

export type ParsedCheck =
  | { readonly ok: true; readonly check: Check }
  | { readonly ok: false; readonly fault: CheckFault }

/** Applies the limits and the default cost of 1. */
export const parseCheck = ({ domain, attributes, cost = 1, requestId = '' }: UncheckedCheck): ParsedCheck => {
  const domainProblem = textProblem(domain, checkLimits.domainBytes)
  if (domainProblem !== undefined) return invalid('domain', domainProblem)
  const entries = attributes instanceof Map ? (attributes as Attributes) : new Map(Object.entries(attributes))
  if (entries.size > checkLimits.attributes)
    return invalid('attributes', `has ${entries.size} entries; send at most ${checkLimits.attributes}`)
  for (const [name, value] of entries) {
    const nameProblem = textProblem(name, checkLimits.attributeBytes)
    if (nameProblem !== undefined) return invalid('attributes', `has a name that ${nameProblem}`)
    const valueProblem = value === '' ? undefined : textProblem(value, checkLimits.attributeBytes)
    if (valueProblem !== undefined) return invalid(`attributes.${name.slice(0, 64)}`, valueProblem)
  }
  if (!Number.isInteger(cost) || cost < 0 || cost > checkLimits.cost)
    return invalid('cost', `must be a whole number from 0 to ${checkLimits.cost}`)
  const requestIdProblem = requestId === '' ? undefined : textProblem(requestId, checkLimits.requestIdBytes)
  if (requestIdProblem !== undefined) return invalid('request_id', requestIdProblem)
  const check = { domain: domainName(domain), attributes: entries, cost }
  return { ok: true, check: requestId === '' ? check : { ...check, requestId } }
}

export const invalid = (field: string, problem: string): { ok: false; fault: CheckFault } => ({
  ok: false,
  fault: { kind: 'invalid', field, problem },
})

const REPLACEMENT_CHARACTER = '\uFFFD'

const textProblem = (text: string, maxBytes: number) => {
  if (text === '') return 'is empty'
  // A UTF-16 unit is at most 3 bytes of UTF-8, so most texts need no counting.
  if (text.length * 3 > maxBytes && byteLength(text) > maxBytes) return `is longer than ${maxBytes} bytes`
  // Decoders put this character where the bytes were wrong: two different broken values would share one bucket.
  if (text.includes(REPLACEMENT_CHARACTER)) return 'is not valid UTF-8'
  return undefined
}

const byteLength = (text: string) => {
  let bytes = 0
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4
  }
  return bytes
}
