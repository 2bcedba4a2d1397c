import { expect, test } from 'vitest'
import { httpLimits } from './limits.ts'
import { boundLingering } from './lingering.ts'

const PIECE_BYTES = 64 * 1024

const open = () => {
  let ms = 0
  const linger = boundLingering(() => ms)
  /** What a client that never stops sending has read of it. */
  const readOf = () => {
    const socket = { bytesRead: 1_000 }
    const maySendOn = linger(socket)
    do socket.bytesRead += PIECE_BYTES
    while (maySendOn())
    return socket.bytesRead - 1_000
  }
  return { readOf, pass: (seconds: number) => (ms += seconds * 1_000) }
}

test('of one client so many bytes are read, to the piece', () => {
  expect(open().readOf()).toBe(httpLimits.lingerBytes + PIECE_BYTES)
})

test('of many no more than their common bound, and then of each a piece; with time there is more', () => {
  const { readOf, pass } = open()
  const read = Array.from({ length: 100 }, readOf)
  expect(read.reduce((sum, bytes) => sum + bytes)).toBeLessThanOrEqual(httpLimits.lingerBytesInAll + 100 * PIECE_BYTES)
  expect(read.at(-1)).toBe(PIECE_BYTES)
  pass(2)
  expect(readOf()).toBe(2 * httpLimits.lingerBytesPerS + PIECE_BYTES)
  pass(3600)
  expect(readOf()).toBe(httpLimits.lingerBytes + PIECE_BYTES)
})
