import type { IncomingMessage, ServerResponse } from 'node:http'
import { apiError } from '../api-error.ts'
import { httpLimits } from './limits.ts'

/** Refuses a body that comes in too many pieces. Each costs its own work and memory, be it a single byte. */
export const boundPieces = (request: IncomingMessage) => {
  if (request.headers['transfer-encoding'] === undefined) return
  let pieces = 0
  const count = () => {
    pieces += 1
    if (pieces <= httpLimits.bodyPieces) return
    request.off('data', count)
    // Only whoever awaits the body listens.
    if (request.listenerCount('error') > 0)
      request.emit('error', apiError(413, 'body_too_large', 'The body comes in more pieces than the server reads.'))
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
  // Ahead of Node's own listener, which would have all the rest read and thrown away.
  response.prependOnceListener('finish', () => {
    if (request.complete) return
    const bytesBefore = socket.bytesRead
    const count = () => {
      if (socket.bytesRead - bytesBefore <= httpLimits.bodyBytes) return
      request.off('data', count)
      socket.pause()
      socket.end()
      setTimeout(() => socket.destroy(), httpLimits.lingerMs)
    }
    request.on('data', count)
    request.resume()
    // By this Node knows that somebody reads.
    request.read(0)
  })
}
