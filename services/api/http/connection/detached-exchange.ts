import { IncomingMessage, type RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ApiError } from '../api-error.ts'
import { httpLimits } from './limits.ts'
import type { Lingering } from './lingering.ts'
import { refuse } from './refusal.ts'

/** Stands in for a request that the parser could not finish; nothing of it is known but its connection. */
export const unreadRequest = (socket: Socket): IncomingMessage => {
  const request = new IncomingMessage(socket)
  request.method = 'GET'
  request.url = '/'
  request.httpVersion = '1.1'
  request.httpVersionMajor = 1
  request.httpVersionMinor = 1
  request.push(null)
  return request
}

type Refused = {
  readonly request: IncomingMessage
  readonly socket: Socket
  readonly error: ApiError
  readonly dispatch: RequestListener
  readonly linger: Lingering
}

/**
 * Sends a request whose connection the server's parser has let go of on the way that all requests take, so that it is
 * charged and answered like them. Its connection then closes.
 */
export const dispatchRefused = ({ request, socket, error, dispatch, linger }: Refused) => {
  refuse(request, error)
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  response.assignSocket(socket)
  response.once('finish', () => {
    response.detachSocket(socket)
    leave(socket, linger)
  })
  dispatch(request, response)
}

/** Closes our side and reads on for a moment: closing at once would take the answer from a client that is still sending. */
const leave = (socket: Socket, linger: Lingering) => {
  const maySendOn = linger(socket)
  socket.end()
  socket.on('data', () => {
    if (!maySendOn()) socket.pause()
  })
  socket.resume()
  const timer = setTimeout(() => socket.destroy(), httpLimits.lingerMs)
  socket.once('close', () => clearTimeout(timer))
}
