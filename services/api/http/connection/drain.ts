import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'

/** How long a connection without a request is waited for: a client may have sent one that has not arrived. */
const IDLE_MS = 1_000
/** How long a client may take to send a request that it has begun, or to read its answer. */
const STALLED_MS = 2_500
/** How long an answer may take before its connection is cut: more than the deadlines of limiter and database together. */
const ANSWER_MS = 8_000
const LOOK_MS = 100

/**
 * Takes no more connections and returns when the last one has gone. Whoever answers closes each with its next answer;
 * Node's own `close` would cut a keep-alive connection whose next request is on its way.
 */
export const drain = async (server: Server, isAnswering: () => boolean) => {
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  const idle = setTimeout(() => server.closeIdleConnections(), IDLE_MS)
  const startMs = performance.now()
  const late = setInterval(() => {
    const elapsedMs = performance.now() - startMs
    if (elapsedMs > ANSWER_MS || (elapsedMs > STALLED_MS && !isAnswering())) server.closeAllConnections()
  }, LOOK_MS)
  await closed
  clearTimeout(idle)
  clearInterval(late)
}
