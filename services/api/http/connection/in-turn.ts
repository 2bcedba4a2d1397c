import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpLimits } from './limits.ts'

type Turn = { readonly request: IncomingMessage; readonly response: ServerResponse }

/**
 * Works on the requests of a connection one after the other. Node hands them over as fast as they arrive: side by side, one
 * could overtake the change that it was sent after (RFC 9112, 9.3.2), and a single connection could keep the limiter's client
 * busy for everybody.
 */
export const inTurn = (work: RequestListener): RequestListener => {
  /** A connection has one as long as a request of it is at work. */
  const queues = new WeakMap<Socket, Turn[]>()
  let waiting = 0

  const begin = ({ request, response }: Turn, socket: Socket, queue: Turn[]) => {
    response.once('close', () => proceed(socket, queue))
    work(request, response)
  }

  const proceed = (socket: Socket, queue: Turn[]) => {
    const next = queue.shift()
    if (next === undefined) {
      queues.delete(socket)
      return
    }
    waiting -= 1
    // Nobody could be answered any more, so nothing is done and nothing charged.
    if (socket.writable) begin(next, socket, queue)
    else waiting -= queue.splice(0).length
  }

  return (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const queue = queues.get(socket)
    if (queue === undefined) {
      const own: Turn[] = []
      queues.set(socket, own)
      begin({ request, response }, socket, own)
    } else if (queue.length < httpLimits.waitingPerConnection && waiting < httpLimits.waiting) {
      queue.push({ request, response })
      waiting += 1
    } else {
      // A few bytes become a request of some kilobytes, which are only free when the connection is.
      socket.destroy()
    }
  }
}
