import type { Buffer } from 'node:buffer'
import { readEntry } from './entry.ts'
import type { RateLimitRequest__Output } from './gen/envoy/service/ratelimit/v3/RateLimitRequest.ts'
import { BYTES, createMessageReader, type MessageReader, NUMBER, tagOf } from './message-reader.ts'

type Descriptor = RateLimitRequest__Output['descriptors'][number]
type Limit = NonNullable<Descriptor['limit']>

const DOMAIN = tagOf(1, BYTES)
const DESCRIPTORS = tagOf(2, BYTES)
const HITS_ADDEND = tagOf(3, NUMBER)
const ENTRIES = tagOf(1, BYTES)
const LIMIT = tagOf(2, BYTES)
const DESCRIPTOR_HITS_ADDEND = tagOf(3, BYTES)
const REQUESTS_PER_UNIT = tagOf(1, NUMBER)
const UNIT = tagOf(2, NUMBER)
const HITS = tagOf(1, NUMBER)

const UNITS = ['UNKNOWN', 'SECOND', 'MINUTE', 'HOUR', 'DAY', 'MONTH', 'YEAR', 'WEEK'] as const satisfies Limit['unit'][]

/** Envoy's RateLimitRequest; `undefined` when the bytes are none. */
export const decodeRateLimitRequest = (bytes: Buffer): RateLimitRequest__Output | undefined => {
  try {
    return readRequest(createMessageReader(bytes), bytes.length)
  } catch {
    return undefined
  }
}

const readRequest = (reader: MessageReader, end: number): RateLimitRequest__Output => {
  let domain = ''
  let hitsAddend = 0
  const descriptors: Descriptor[] = []
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === DOMAIN) domain = reader.text(reader.end(end))
    else if (tag === DESCRIPTORS) descriptors.push(readDescriptor(reader, reader.end(end)))
    else if (tag === HITS_ADDEND) hitsAddend = reader.varint(end)
    else reader.skip(tag, end)
  }
  return { domain, descriptors, hitsAddend }
}

const readDescriptor = (reader: MessageReader, end: number): Descriptor => {
  const entries: Descriptor['entries'] = []
  let limit: Limit | undefined
  let hits: number | undefined
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === ENTRIES) entries.push(readEntry(reader, reader.end(end)))
    else if (tag === LIMIT) limit = readLimit(reader, reader.end(end))
    else if (tag === DESCRIPTOR_HITS_ADDEND) hits = readHits(reader, reader.end(end))
    else reader.skip(tag, end)
  }
  return { entries, ...(limit !== undefined && { limit }), ...(hits !== undefined && { hitsAddend: { value: hits } }) }
}

const readLimit = (reader: MessageReader, end: number): Limit => {
  let requestsPerUnit = 0
  let unit = 0
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === REQUESTS_PER_UNIT) requestsPerUnit = reader.varint(end)
    else if (tag === UNIT) unit = reader.varint(end)
    else reader.skip(tag, end)
  }
  return { requestsPerUnit, unit: UNITS[unit] ?? 'UNKNOWN' }
}

const readHits = (reader: MessageReader, end: number) => {
  let value = 0
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === HITS) value = reader.varint(end)
    else reader.skip(tag, end)
  }
  return value
}
