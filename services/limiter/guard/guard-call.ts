import type { ServerHttp2Stream } from 'node:http2'
import { CHUNK_BYTES } from './chunk-bytes.ts'
import { dismiss } from './dismiss.ts'
import { type Waiting, waiterOf } from './waiting.ts'

/** Bounds how long a call that is served elsewhere takes from its begin to its end, and what its request holds meanwhile; false: no room. */
export const guardCall = (stream: ServerHttp2Stream, waiting: Waiting): boolean => {
  const waiter = waiterOf(() => dismiss(stream, waiting))
  if (!waiting.enter(waiter)) return false
  let bytes = 0
  stream.on('data', (chunk: Buffer) => {
    bytes += CHUNK_BYTES + chunk.length
    if (!stream.closed) waiting.hold(waiter, bytes)
  })
  stream.once('close', () => waiting.end(waiter))
  return true
}
