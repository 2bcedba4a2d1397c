import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpLimits } from './limits.ts'

type Turn = { readonly request: IncomingMessage; readonly response: ServerResponse }
type Line = { isBusy: boolean; readonly waiting: Turn[] }

/**
 * Works on the requests of a connection one after the other. Node hands them over as fast as they arrive: side by side, one
 * could overtake the change that it was sent after (RFC 9112, 9.3.2), and a single connection could keep the limiter's client
 * busy for everybody. While one waits, nothing more is read of its connection.
 */
export const inTurn = (work: RequestListener): RequestListener => {
  const lines = new WeakMap<Socket, Line>()
  let waitingInAll = 0

  const openLine = (socket: Socket) => {
    const line: Line = { isBusy: false, waiting: [] }
    lines.set(socket, line)
    // Node resumes a connection whenever it reads the body of the request at work.
    socket.on('resume', () => {
      if (line.waiting.length > 0) socket.pause()
    })
    return line
  }

  const begin = ({ request, response }: Turn, socket: Socket, line: Line) => {
    line.isBusy = true
    response.once('close', () => proceed(socket, line))
    work(request, response)
  }

  const proceed = (socket: Socket, line: Line) => {
    line.isBusy = false
    // Nobody could be answered any more: nothing is done, and nothing charged.
    if (!socket.writable) waitingInAll -= line.waiting.splice(0).length
    const next = line.waiting.shift()
    if (next === undefined) return
    waitingInAll -= 1
    if (line.waiting.length === 0) socket.resume()
    begin(next, socket, line)
  }

  return (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const line = lines.get(socket) ?? openLine(socket)
    if (!line.isBusy) {
      begin({ request, response }, socket, line)
    } else if (waitingInAll < httpLimits.waitingRequests) {
      line.waiting.push({ request, response })
      waitingInAll += 1
      socket.pause()
    } else {
      // What has been read of the connection may hold thousands more, whose memory is free once it has gone.
      socket.destroy()
    }
  }
}
