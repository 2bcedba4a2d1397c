import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Arrivals } from './arrivals.ts'

/** Bounds how long the request of a call that is served elsewhere takes to arrive, and what it holds until then. */
export const guardArrival = (stream: ServerHttp2Stream, arrivals: Arrivals) => {
  let bytes = 0
  const giveUp = () => stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM)
  const arriving = { heldBytes: 0, expire: giveUp }
  const end = () => arrivals.end(arriving)
  arrivals.begin(arriving)
  stream.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (!arrivals.hold(arriving, bytes)) giveUp()
  })
  stream.on('end', end)
  stream.on('close', end)
}
