import type { ServerHttp2Stream } from 'node:http2'
import { dismiss } from './dismiss.ts'
import { type Waiting, waiterOf } from './waiting.ts'

/** Bounds how long a stream that has been answered takes to close. */
export const leave = (stream: ServerHttp2Stream, waiting: Waiting) => {
  const waiter = waiterOf(() => {
    waiting.end(waiter)
    dismiss(stream, waiting)
  })
  stream.once('close', () => waiting.end(waiter))
  if (!waiting.linger(waiter)) stream.session?.destroy()
}
