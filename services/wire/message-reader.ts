import type { Buffer } from 'node:buffer'

/** How protobuf writes a field: as a number, or as a length and so many bytes. */
export const NUMBER = 0
export const BYTES = 2

/** What a reader throws: made once, because only whoever sends nonsense pays for it. */
const NOT_A_MESSAGE = new Error('the bytes are no protobuf message')

/**
 * Reads the fields of one message after the other from the same bytes. Throws when they are no message; a field that is
 * unknown, or not written as expected, is skipped.
 */
export const createMessageReader = (bytes: Buffer) => {
  let at = 0

  const varint = (end: number) => {
    let value = 0
    let factor = 1
    for (let count = 0; count < MAX_VARINT_BYTES; count += 1) {
      if (at >= end) throw NOT_A_MESSAGE
      const byte = bytes[at++] ?? 0
      value += (byte & 127) * factor
      if (byte < 128) return value
      factor *= 128
    }
    throw NOT_A_MESSAGE
  }

  const advance = (count: number, end: number) => {
    if (at + count > end) throw NOT_A_MESSAGE
    at += count
  }

  return {
    at: () => at,
    moveTo: (position: number) => {
      at = position
    },
    varint,
    /** Reads a length, and gives where the bytes of that length end. */
    end: (limit: number) => {
      const length = varint(limit)
      if (at + length > limit) throw NOT_A_MESSAGE
      return at + length
    },
    /** Reads to the given place. */
    text: (end: number) => {
      const start = at
      at = end
      return bytes.toString('utf8', start, end)
    },
    skip: (tag: number, end: number) => {
      switch (tag & 7) {
        case NUMBER:
          varint(end)
          return
        case 1:
          return advance(8, end)
        case BYTES: {
          const length = varint(end)
          return advance(length, end)
        }
        case 5:
          return advance(4, end)
      }
      throw NOT_A_MESSAGE
    },
  }
}

export type MessageReader = ReturnType<typeof createMessageReader>

const MAX_VARINT_BYTES = 10

/** The tag that begins a field. */
export const tagOf = (field: number, kind: typeof NUMBER | typeof BYTES) => (field << 3) | kind
