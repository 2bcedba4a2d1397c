import type { Server } from 'node:http'
import { Server as NetServer } from 'node:net'

/** How long a connection without a request is waited for: a client may have sent one that has not arrived. */
const IDLE_MS = 1_000
/** How long an answer may take before its connection is cut. */
const ANSWER_MS = 2_500

/**
 * Takes no more connections and returns when the last one has gone. Whoever answers closes each with its next answer;
 * Node's own `close` would cut a keep-alive connection whose next request is on its way.
 */
export const drain = async (server: Server) => {
  const closed = new Promise<void>((resolve) => {
    NetServer.prototype.close.call(server, () => resolve())
  })
  const idle = setTimeout(() => server.closeIdleConnections(), IDLE_MS)
  const late = setTimeout(() => server.closeAllConnections(), ANSWER_MS)
  await closed
  clearTimeout(idle)
  clearTimeout(late)
}
