import { constants, type Http2Session, type ServerHttp2Stream } from 'node:http2'
import { type Waiting, waiterOf } from './waiting.ts'

/** A connection on which so many calls were given up is given up itself: nobody who means well is ever that slow. */
const MAX_GIVEN_UP = 100

const givenUpOn = new WeakMap<Http2Session, number>()

/** Counts a call that was given up on its connection. */
export const noteGivenUp = ({ session }: ServerHttp2Stream) => {
  if (session === undefined || session.destroyed) return
  const count = (givenUpOn.get(session) ?? 0) + 1
  givenUpOn.set(session, count)
  if (count >= MAX_GIVEN_UP) session.destroy()
}

/** Ends a stream by a reset, and if not even that leaves, because the caller reads nothing at all, with its connection. */
export const dismiss = (stream: ServerHttp2Stream, waiting: Waiting) => {
  if (stream.destroyed) return
  const { session } = stream
  const endConnection = () => session?.destroy()
  const waiter = waiterOf(endConnection)
  stream.once('close', () => waiting.end(waiter))
  stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  if (!waiting.linger(waiter)) return endConnection()
  noteGivenUp(stream)
}
