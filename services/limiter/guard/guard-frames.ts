import type { ServerHttp2Stream } from 'node:http2'
import { CHUNK_BYTES } from './chunk-bytes.ts'
import { dismiss } from './dismiss.ts'
import { type Waiting, waiterOf } from './waiting.ts'

const PREFIX_BYTES = 5

/** A stream of messages may last; bounded is how long one of them takes to arrive, and what its parts hold until then. */
export const guardFrames = (stream: ServerHttp2Stream, waiting: Waiting) => {
  const places = createPlaces()
  let bytes = 0
  const waiter = waiterOf((reason) => {
    // It is not the caller for whom a message waits that is not read on.
    if (reason === 'late' && stream.isPaused()) waiting.stay(waiter)
    else dismiss(stream, waiting)
  })
  stream.on('data', (chunk: Buffer) => {
    if (stream.closed) return
    const place = places.after(chunk)
    if (place !== 'within') {
      waiting.rest(waiter)
      bytes = 0
    }
    if (place === 'end') return
    if (bytes === 0) waiting.stay(waiter)
    bytes += CHUNK_BYTES + chunk.length
    waiting.hold(waiter, bytes)
  })
  stream.once('close', () => waiting.end(waiter))
}

/** Where a stream stands after a chunk: at the end of a message, in the one that it was in before, or in another. */
type Place = 'end' | 'within' | 'in_next'

const createPlaces = () => {
  const prefix = Buffer.alloc(PREFIX_BYTES)
  let prefixBytes = 0
  let missingBytes = 0
  return {
    after: (chunk: Buffer): Place => {
      let hasEnded = false
      for (let at = 0; at < chunk.length; ) {
        if (missingBytes > 0) {
          const taken = Math.min(missingBytes, chunk.length - at)
          missingBytes -= taken
          at += taken
        } else {
          const taken = chunk.copy(prefix, prefixBytes, at, at + PREFIX_BYTES - prefixBytes)
          prefixBytes += taken
          at += taken
          if (prefixBytes < PREFIX_BYTES) break
          prefixBytes = 0
          missingBytes = prefix.readUInt32BE(1)
        }
        hasEnded ||= missingBytes === 0
      }
      if (missingBytes === 0 && prefixBytes === 0) return 'end'
      return hasEnded ? 'in_next' : 'within'
    },
  }
}
