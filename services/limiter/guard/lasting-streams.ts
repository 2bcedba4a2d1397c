import type { Http2Session, ServerHttp2Stream } from 'node:http2'

type Limits = {
  /** Of all connections together. */
  readonly max: number
  readonly maxPerConnection: number
}

/** Counts streams that may last. */
export const createLastingStreams = ({ max, maxPerConnection }: Limits) => {
  const ofConnection = new WeakMap<Http2Session, number>()
  let all = 0
  return {
    /** Whether there is room for it; if so, it is counted until it closes. */
    admit: (stream: ServerHttp2Stream): boolean => {
      const { session } = stream
      if (session === undefined) return false
      const siblings = ofConnection.get(session) ?? 0
      if (all >= max || siblings >= maxPerConnection) return false
      all += 1
      ofConnection.set(session, siblings + 1)
      stream.once('close', () => {
        all -= 1
        ofConnection.set(session, (ofConnection.get(session) ?? 1) - 1)
      })
      return true
    },
  }
}
