import type { ServerHttp2Session } from 'node:http2'
import { type Waiting, waiterOf } from './waiting.ts'

/** A connection that does not say in time that it speaks HTTP/2 is closed. */
export const guardConnection = (session: ServerHttp2Session, waiting: Waiting) => {
  const waiter = waiterOf(() => session.destroy())
  const end = () => waiting.end(waiter)
  session.once('remoteSettings', end)
  session.once('close', end)
  waiting.stay(waiter)
}
