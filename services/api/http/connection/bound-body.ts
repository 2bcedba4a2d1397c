import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '../api-error.ts'
import { httpLimits } from './limits.ts'
import type { Lingering } from './lingering.ts'
import { refuse } from './refusal.ts'

/** Reads no more of a request's connection, whoever asks for more: Node does, each time that it has handed over a piece. */
const stopReading = (request: IncomingMessage) => {
  const { socket } = request
  request.pause()
  socket.on('resume', () => socket.pause())
  socket.pause()
}

/**
 * Refuses a body that comes in too many pieces. Each costs its own work and memory, be it a single byte, and a packet may hold ten
 * thousand; so they are counted as they are parsed, also while nobody wants the body yet.
 */
export const boundPieces = (request: IncomingMessage, response: ServerResponse) => {
  if (request.headers['transfer-encoding'] === undefined) return
  const keep = request.push.bind(request)
  let pieces = 0
  request.push = (piece) => {
    pieces += piece === null ? 0 : 1
    if (pieces <= httpLimits.bodyPieces) return keep(piece)
    if (pieces === httpLimits.bodyPieces + 1) refuseRest(request, response)
    return false
  }
}

const refuseRest = (request: IncomingMessage, response: ServerResponse) => {
  response.shouldKeepAlive = false
  stopReading(request)
  const fault = apiError(413, 'body_too_large', 'The body comes in more pieces than the server reads.')
  // Before the gate has answered it is refused behind the gate …
  refuse(request, fault)
  // … and while its body is awaited, whoever awaits it is told.
  if (request.listenerCount('error') > 0) request.emit('error', fault)
}

/**
 * Ends the connection of a client that goes on sending after it has been answered. What a right client still has under way is
 * read, because closing at once would take the answer from it.
 */
export const boundUnreadBody = (request: IncomingMessage, response: ServerResponse, linger: Lingering) => {
  const { socket, headers } = request
  if (headers['transfer-encoding'] === undefined && headers['content-length'] === undefined) return
  const leave = () => {
    socket.end()
    setTimeout(() => socket.destroy(), httpLimits.lingerMs)
  }
  // Ahead of Node's own listener, which would have all the rest read and thrown away.
  response.prependOnceListener('finish', () => {
    if (request.complete) return
    if (request.isPaused()) return leave()
    const maySendOn = linger(socket)
    const count = () => {
      if (maySendOn()) return
      request.off('data', count)
      stopReading(request)
      leave()
    }
    request.on('data', count)
    request.resume()
    // By this Node knows that somebody reads.
    request.read(0)
  })
}
