import type { Buffer } from 'node:buffer'
import type { ParsedCheck } from '../contract/check.ts'
import { readCheck } from './check-bytes.ts'
import { createCheckCache, MAX_KNOWN, MAX_KNOWN_BYTES } from './check-cache.ts'
import type { MessageReader } from './message-reader.ts'

const known = createCheckCache<ParsedCheck>(MAX_KNOWN)

/** Reads a ShouldAllowRequest that ends there; one that came before is the same object. */
export const readKnownCheck = (bytes: Buffer, reader: MessageReader, end: number): ParsedCheck => {
  const start = reader.at()
  if (end - start > MAX_KNOWN_BYTES) return readCheck(reader, end)
  const text = bytes.toString('latin1', start, end)
  const found = known.get(text)
  if (found !== undefined) {
    reader.moveTo(end)
    return found
  }
  const parsed = readCheck(reader, end)
  // One with an id of its own will not come again.
  if (parsed.ok && parsed.check.requestId === undefined) known.set(text, parsed)
  return parsed
}
