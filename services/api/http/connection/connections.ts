import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { type ApiError, apiError, withHeaders } from '../api-error.ts'
import { boundPieces, boundUnreadBody } from './bound-body.ts'
import type { ConnectionBook } from './connection-book.ts'
import { dispatchRefused, unreadRequest } from './detached-exchange.ts'
import { inTurn } from './in-turn.ts'
import { httpLimits } from './limits.ts'
import { boundLingering } from './lingering.ts'
import { type ConnectionError, parserFault } from './parser-fault.ts'
import { refuse } from './refusal.ts'
import { boundUnreadAnswers } from './unread-answers.ts'

type Exchange = { readonly response: ServerResponse; readonly count: number }

export type Connections = {
  /** A server whose requests all go to `dispatch`, also those that Node's would answer by itself or not at all. */
  readonly createServer: () => Server
  readonly onClientError: (error: ConnectionError, socket: Socket) => void
  /**
   * Before a body is read: asks a client that waits for `100 Continue` for it. One that was not asked has its connection
   * closed by Node.
   */
  readonly admitBody: (request: IncomingMessage, response: ServerResponse) => void
  /** Before an answer of so many bytes is sent. */
  readonly announceAnswer: (response: ServerResponse, bytes: number) => void
}

/** Every request of every connection, also a malformed one, goes to `dispatch` and is answered by it. */
export const createConnections = (dispatch: RequestListener, book: ConnectionBook): Connections => {
  const latest = new WeakMap<Socket, Exchange>()
  const refused = new WeakSet<Socket>()
  const awaitingContinue = new WeakSet<IncomingMessage>()
  const work = inTurn(dispatch)
  const linger = boundLingering()

  const note = (request: IncomingMessage, response: ServerResponse) => {
    const count = (latest.get(request.socket)?.count ?? 0) + 1
    if (count >= httpLimits.requestsPerConnection) response.shouldKeepAlive = false
    // Node drops what follows such a request in the same packet: the client would take later answers for earlier ones.
    if (request.headers.upgrade !== undefined) response.shouldKeepAlive = false
    latest.set(request.socket, { response, count })
  }

  const receive = (request: IncomingMessage, response: ServerResponse) => {
    // The rest of a request that was given up for being slow: it has had its answer.
    if (refused.has(request.socket)) return
    note(request, response)
    boundUnreadBody(request, response, linger)
    boundPieces(request, response)
    work(request, response)
  }

  /** Answers of one connection are in the order of its requests. */
  const answerInTurn = (socket: Socket, request: IncomingMessage, error: ApiError) => {
    const answer = () => {
      if (socket.writable) dispatchRefused({ request, socket, error, dispatch, linger })
    }
    const before = latest.get(socket)?.response
    if (before === undefined || before.closed) answer()
    else before.once('close', answer)
  }

  const onClientError = (error: ConnectionError, socket: Socket) => {
    // The parser repeats its error for every further packet.
    if (refused.has(socket)) return
    const before = latest.get(socket)?.response
    // It is we who do not read on, until the requests before have been answered.
    if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && before?.closed === false && before.req.complete) return
    refused.add(socket)
    const fault = parserFault(error, socket)
    if (fault === undefined || !socket.writable) {
      socket.destroy()
      return
    }
    if (before !== undefined && !before.req.complete) refuseBody(before, fault)
    else answerInTurn(socket, unreadRequest(socket), fault)
  }

  return {
    createServer: () => {
      const server = createServer({
        maxHeaderSize: httpLimits.headerBytes,
        headersTimeout: httpLimits.headersTimeoutMs,
        requestTimeout: httpLimits.requestTimeoutMs,
        connectionsCheckingInterval: httpLimits.timeoutCheckMs,
        keepAliveTimeout: httpLimits.keepAliveTimeoutMs,
        requireHostHeader: false,
      })
      server.setTimeout(httpLimits.stalledMs)
      book.keep(server)
      server.on('request', receive)
      server.on('checkContinue', (request, response) => {
        awaitingContinue.add(request)
        receive(request, response)
      })
      server.on('checkExpectation', (request, response) => {
        refuse(request, apiError(417, 'expectation_failed', 'The only expectation that can be met is 100-continue.'))
        receive(request, response)
      })
      server.on('connect', (request, duplex) => {
        const socket = request.socket
        duplex.on('error', () => socket.destroy())
        answerInTurn(socket, request, connectRefused)
      })
      return server
    },
    onClientError,
    admitBody: (request, response) => {
      const isTooLong = Number(request.headers['content-length']) > httpLimits.bodyBytes
      if (awaitingContinue.has(request) && !isTooLong) response.writeContinue()
    },
    announceAnswer: boundUnreadAnswers(),
  }
}

/** The header was read and is under way; what comes after it is malformed, or does not come. */
const refuseBody = (response: ServerResponse, fault: ApiError) => {
  const request = response.req
  response.shouldKeepAlive = false
  if (response.closed) request.socket.destroy()
  else response.once('close', () => request.socket.destroySoon())
  // Before the gate has answered it is refused behind the gate …
  refuse(request, fault)
  // … and while its body is awaited, whoever awaits it is told.
  if (request.listenerCount('error') > 0) request.emit('error', fault)
}

const connectRefused = withHeaders(apiError(405, 'method_not_allowed', 'This server is not a proxy.'), {
  allow: 'GET, HEAD, POST, PUT, PATCH, DELETE',
})
