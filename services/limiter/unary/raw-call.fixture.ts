import { once } from 'node:events'
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
} from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { Server, ServerCredentials } from '@grpc/grpc-js'
import { createWaiting, type WaitingLimits } from '../guard/waiting.ts'
import { grpcHandler, grpcMethod } from './grpc-method.ts'
import type { UnaryMethod } from './method.ts'
import { framed } from './request-body.ts'
import { serveUnary } from './serve-unary.ts'

export const PATH = '/test.Service/Echo'

type Options = Partial<UnaryMethod> &
  Partial<WaitingLimits> & {
    readonly lasting?: readonly string[]
    /** What the client takes of an answer before it has read any of it. */
    readonly windowBytes?: number
  }

/** A server with one method, which answers with the request, and an HTTP/2 connection to it. */
export const openEcho = async (options: Options = {}) => {
  const {
    patienceMs = 5_000,
    maxCalls = 10_000,
    maxLingering = 10_000,
    maxHeldBytes = 64 * 1024 * 1024,
    lasting = [],
    windowBytes = 65_535,
    ...changes
  } = options
  const method: UnaryMethod = {
    path: PATH,
    maxBytes: 100_000,
    tooLarge: { code: 8, details: 'too large' },
    answer: async (message) => ({ ok: true, message }),
    ...changes,
  }
  const server = new Server({ 'grpc.enable_channelz': 0 })
  server.addService({ Echo: grpcMethod(method) }, { Echo: grpcHandler(method) })
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  const waiting = createWaiting({ patienceMs, maxCalls, maxLingering, maxHeldBytes })
  serveUnary({ server, methods: [method], lasting, waiting })
  const sockets = new Set<Socket>()
  const listener = createServer((socket) => {
    sockets.add(socket.on('error', () => {}))
    injector.injectConnection(socket)
  })
  await once(listener.listen(0, '127.0.0.1'), 'listening')
  const session = connect(`http://127.0.0.1:${(listener.address() as AddressInfo).port}`, {
    settings: { initialWindowSize: windowBytes },
  })
  session.on('error', () => {})
  return {
    session,
    [Symbol.asyncDispose]: async () => {
      session.destroy()
      for (const socket of sockets) socket.destroy()
      waiting[Symbol.dispose]()
      server.forceShutdown()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

export type Answered = {
  /** Of HTTP. */
  readonly httpStatus: number | undefined
  readonly code: number
  readonly details: string
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
  /** What ended the stream, if it was reset. */
  readonly reset: number
}

/** One call; `send` writes its body, or does not. */
export const call = async (
  session: ClientHttp2Session,
  send: (stream: ClientHttp2Stream) => void,
  more: Readonly<Record<string, string>> = {},
): Promise<Answered> => {
  const stream = session.request({
    ':method': 'POST',
    ':path': PATH,
    'content-type': 'application/grpc',
    te: 'trailers',
    ...more,
  })
  stream.on('error', () => {})
  let headers: IncomingHttpHeaders & IncomingHttpStatusHeader = {}
  let trailers: IncomingHttpHeaders = {}
  const chunks: Buffer[] = []
  stream.on('response', (received) => (headers = received))
  stream.on('trailers', (received) => (trailers = received))
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  send(stream)
  await new Promise((resolve) => stream.once('close', resolve))
  const end = { ...headers, ...trailers }
  return {
    httpStatus: headers[':status'],
    code: Number(end['grpc-status']),
    details: decodeURIComponent(`${end['grpc-message'] ?? ''}`),
    body: Buffer.concat(chunks),
    headers,
    reset: stream.rstCode,
  }
}

export const message = (text: string) => framed(Buffer.from(text))
