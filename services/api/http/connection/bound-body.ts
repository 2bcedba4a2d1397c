import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '../api-error.ts'
import { httpLimits } from './limits.ts'

/** Reads no more of a request's connection, whoever asks for more: Node does, each time that it has handed over a piece. */
const stopReading = (request: IncomingMessage) => {
  const { socket } = request
  request.pause()
  socket.on('resume', () => socket.pause())
  socket.pause()
}

/** Refuses a body that comes in too many pieces. Each costs its own work and memory, be it a single byte. */
export const boundPieces = (request: IncomingMessage) => {
  if (request.headers['transfer-encoding'] === undefined) return
  let pieces = 0
  const count = () => {
    pieces += 1
    if (pieces <= httpLimits.bodyPieces) return
    request.off('data', count)
    // Only whoever awaits the body listens.
    if (request.listenerCount('error') === 0) return
    request.emit('error', apiError(413, 'body_too_large', 'The body comes in more pieces than the server reads.'))
    stopReading(request)
  }
  request.on('data', count)
}

/**
 * Ends the connection of a client that goes on sending after it has been answered. What a right client still has under way is
 * read, because closing at once would take the answer from it.
 */
export const boundUnreadBody = (request: IncomingMessage, response: ServerResponse) => {
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
    const bytesBefore = socket.bytesRead
    const count = () => {
      if (socket.bytesRead - bytesBefore <= httpLimits.lingerBytes) return
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
