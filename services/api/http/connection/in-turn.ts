import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { httpLimits } from './limits.ts'

type Turn = { readonly request: IncomingMessage; readonly response: ServerResponse; readonly bytes: number }
type Line = { isBusy: boolean; readonly waiting: Turn[] }

/** About what Node's objects of a request take, and of each text of its header fields. */
const REQUEST_BYTES = 2_000
const TEXT_BYTES = 32

/** About what a request takes that has been read and waits: many small fields take more than they have bytes. */
export const waitingBytes = ({ rawHeaders }: Pick<IncomingMessage, 'rawHeaders'>) =>
  rawHeaders.reduce((sum, { length }) => sum + TEXT_BYTES + length, REQUEST_BYTES)

/**
 * Works on the requests of a connection one after the other. Node hands them over as fast as they arrive: side by side, one
 * could overtake the change that it was sent after (RFC 9112, 9.3.2), and a single connection could keep the limiter's client
 * busy for everybody. While one waits, nothing more is read of its connection.
 */
export const inTurn = (work: RequestListener): RequestListener => {
  const lines = new WeakMap<Socket, Line>()
  let bytesInAll = 0

  const openLine = (socket: Socket) => {
    const line: Line = { isBusy: false, waiting: [] }
    lines.set(socket, line)
    // Node resumes a connection whenever it reads the body of the request at work.
    socket.on('resume', () => {
      if (line.waiting.length > 0) socket.pause()
    })
    return line
  }

  const begin = ({ request, response }: Omit<Turn, 'bytes'>, socket: Socket, line: Line) => {
    line.isBusy = true
    response.once('close', () => proceed(socket, line))
    work(request, response)
  }

  const proceed = (socket: Socket, line: Line) => {
    line.isBusy = false
    // Nobody could be answered any more: nothing is done, and nothing charged.
    if (!socket.writable) for (const { bytes } of line.waiting.splice(0)) bytesInAll -= bytes
    const next = line.waiting.shift()
    if (next === undefined) return
    bytesInAll -= next.bytes
    if (line.waiting.length === 0) socket.resume()
    begin(next, socket, line)
  }

  return (request, response) => {
    const { socket } = request
    if (!socket.writable) return
    const line = lines.get(socket) ?? openLine(socket)
    if (!line.isBusy) return begin({ request, response }, socket, line)
    const bytes = waitingBytes(request)
    if (bytesInAll + bytes <= httpLimits.waitingBytes) {
      line.waiting.push({ request, response, bytes })
      bytesInAll += bytes
      socket.pause()
    } else {
      // What has been read of the connection may hold thousands more, whose memory is free once it has gone.
      socket.destroy()
    }
  }
}
