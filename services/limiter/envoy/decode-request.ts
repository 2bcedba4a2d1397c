import { createCheckCache, MAX_KNOWN, MAX_KNOWN_BYTES } from '../../wire/check-cache.ts'
import { decodeRateLimitRequest } from '../../wire/rate-limit-request.ts'
import { type ParsedRequest, parseRequest } from './request.ts'

const known = createCheckCache<ParsedRequest>(MAX_KNOWN)

/** The check of a RateLimitRequest, the same object for one that came before; `undefined` when the bytes are none. */
export const decodeRequest = (bytes: Buffer): ParsedRequest | undefined => {
  if (bytes.length > MAX_KNOWN_BYTES) return parse(bytes)
  const text = bytes.toString('latin1')
  const found = known.get(text)
  if (found !== undefined) return found
  const parsed = parse(bytes)
  if (parsed?.ok) known.set(text, parsed)
  return parsed
}

const parse = (bytes: Buffer) => {
  const request = decodeRateLimitRequest(bytes)
  return request === undefined ? undefined : parseRequest(request)
}
