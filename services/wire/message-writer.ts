import { Buffer } from 'node:buffer'

/**
 * Writes protobuf messages one after the other into one piece of memory that is used again. The lengths that a message needs
 * beforehand come from the functions below; `finish` gives a copy of what was written.
 */
export const createMessageWriter = () => {
  let memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
  let at = 0

  const varint = (value: number) => {
    let rest = value
    while (rest > 0x7fff_ffff) {
      memory[at++] = (rest % 128) | 0x80
      rest = Math.floor(rest / 128)
    }
    while (rest > 127) {
      memory[at++] = (rest & 127) | 0x80
      rest >>>= 7
    }
    memory[at++] = rest
  }

  return {
    /** Has to be called before so many bytes are written. */
    reserve: (bytes: number) => {
      if (at + bytes <= memory.length) return
      const larger = Buffer.allocUnsafeSlow(Math.max(memory.length * 2, at + bytes))
      memory.copy(larger, 0, 0, at)
      memory = larger
    },
    varint,
    /** A field that holds a number. */
    number: (tag: number, value: number) => {
      memory[at++] = tag
      varint(value)
    },
    /** A field that holds text of so many bytes. */
    text: (tag: number, value: string, bytes: number) => {
      memory[at++] = tag
      varint(bytes)
      if (bytes !== value.length || bytes > COPIED_BY_HAND) {
        memory.write(value, at, 'utf8')
        at += bytes
        return
      }
      for (let index = 0; index < bytes; index += 1) memory[at++] = value.charCodeAt(index)
    },
    /** A field that holds bytes. */
    bytes: (tag: number, value: Uint8Array) => {
      memory[at++] = tag
      varint(value.length)
      memory.set(value, at)
      at += value.length
    },
    /** What begins a field that holds a message of so many bytes. */
    message: (tag: number, bytes: number) => {
      memory[at++] = tag
      varint(bytes)
    },
    written: () => at,
    finish: (): Buffer => {
      const copy = Buffer.from(memory.subarray(0, at))
      at = 0
      // A single huge frame must not be paid for ever.
      if (memory.length > KEPT_BYTES) memory = Buffer.allocUnsafeSlow(FIRST_BYTES)
      return copy
    },
  }
}

export type MessageWriter = ReturnType<typeof createMessageWriter>

const FIRST_BYTES = 16 * 1024
const KEPT_BYTES = 2 * 1024 * 1024
/** Up to so many characters a loop is faster than the call of a native function. */
const COPIED_BY_HAND = 32

export const varintBytes = (value: number) => {
  if (value < 128) return 1
  if (value < 16_384) return 2
  let bytes = 2
  for (let rest = Math.floor(value / 16_384); rest > 0; rest = Math.floor(rest / 128)) bytes += 1
  return bytes
}

export const textBytes = (text: string) => {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 127) return Buffer.byteLength(text)
  return text.length
}

/** Of a field whose number is below 16. */
export const textFieldBytes = (bytes: number) => 1 + varintBytes(bytes) + bytes
