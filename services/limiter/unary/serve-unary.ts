import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2'
import { type Server, status } from '@grpc/grpc-js'
import { guardCall } from '../guard/guard-call.ts'
import { guardConnection } from '../guard/guard-connection.ts'
import { guardFrames } from '../guard/guard-frames.ts'
import { createLastingStreams } from '../guard/lasting-streams.ts'
import { leave } from '../guard/leave.ts'
import type { Waiting } from '../guard/waiting.ts'
import type { Refusal, UnaryMethod } from './method.ts'
import { sendRefusal } from './send-refusal.ts'
import { NO_ROOM, serveCall } from './serve-call.ts'
import { parseTimeoutMs } from './timeout.ts'
import { createTurn } from './turn.ts'

/** Streams of requests at once; a further one is refused. */
const LASTING = { max: 2_048, maxPerConnection: 100 } as const
const MAX_HEADER_BYTES = 8 * 1024

type Options = {
  readonly server: Server
  readonly methods: readonly UnaryMethod[]
  /** Paths of methods that may last; all other calls end soon, or are given up. */
  readonly lasting?: readonly string[]
  readonly waiting: Waiting
}

/**
 * Serves the usual calls of these methods on the connections of a grpc-js server that are injected, without grpc-js: it takes more
 * than the decision itself. All that is unusual in a call – a timeout that makes no sense, another content type – is left to grpc-js,
 * which has to know the methods too. What any caller may keep waiting is bounded.
 */
export const serveUnary = ({ server, methods, lasting = [], waiting }: Options) => {
  const lastingStreams = createLastingStreams(LASTING)
  const atTurnEnd = createTurn()
  const byPath = new Map(methods.map((method) => [method.path, method]))
  const http2 = http2ServerOf(server)
  const others = http2.listeners('stream')

  const serveElsewhere = (event: StreamEvent) => {
    const [stream, headers] = event
    const lasts = lasting.includes(headers[':path'] ?? '')
    if (lasts && !lastingStreams.admit(stream)) return refuse(stream, TOO_MANY_STREAMS)
    if (!lasts && !guardCall(stream, waiting)) return refuse(stream, NO_ROOM)
    for (const listener of others) Reflect.apply(listener, http2, event)
    if (lasts) guardFrames(stream, waiting)
  }
  const refuse = (stream: ServerHttp2Stream, refusal: Refusal) => {
    stream.on('error', () => {})
    if (sendRefusal(stream, refusal)) leave(stream, waiting)
  }

  http2.removeAllListeners('stream')
  http2.on('session', (session: ServerHttp2Session) => guardConnection(session, waiting))
  http2.on('stream', (...event: StreamEvent) => {
    const [stream, headers, , rawHeaders] = event
    if (bytesOf(rawHeaders) > MAX_HEADER_BYTES) return refuse(stream, TOO_LARGE_HEADERS)
    if (isCompressed(headers)) return refuse(stream, COMPRESSED)
    const method = byPath.get(headers[':path'] ?? '')
    const timeout = headers['grpc-timeout']
    const timeoutMs = typeof timeout === 'string' ? parseTimeoutMs(timeout) : undefined
    if (method === undefined || !isPlain(headers) || (timeoutMs === undefined && timeout !== undefined))
      return serveElsewhere(event)
    const isServed = serveCall(stream, { method, headers, timeoutMs, waiting, atTurnEnd })
    if (!isServed) refuse(stream, NO_ROOM)
  })
}

type StreamEvent = [
  stream: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  flags: number,
  rawHeaders: readonly string[],
]

const bytesOf = (texts: readonly string[]) => {
  let bytes = 0
  for (const text of texts) bytes += text.length
  return bytes
}

/** A few bytes may be a message of any size then, and what a check says is too short to gain by it. */
const isCompressed = ({ 'grpc-encoding': encoding }: IncomingHttpHeaders) =>
  encoding !== undefined && encoding !== 'identity'

const TOO_MANY_STREAMS: Refusal = {
  code: status.RESOURCE_EXHAUSTED,
  details: 'too many streams; use those that are open, or ask another replica',
}
const TOO_LARGE_HEADERS: Refusal = {
  code: status.RESOURCE_EXHAUSTED,
  details: `the headers are over ${MAX_HEADER_BYTES} bytes`,
}
const COMPRESSED: Refusal = { code: status.UNIMPLEMENTED, details: 'messages are not compressed here' }

const isPlain = (headers: IncomingHttpHeaders) => {
  const type = headers['content-type']
  return headers[':method'] === 'POST' && (type === 'application/grpc' || type === 'application/grpc+proto')
}

/** Of the connections that are injected. grpc-js has no public name for it. */
const http2ServerOf = (server: Server): EventEmitter => {
  const servers: unknown = server['http2Servers']
  const [http2]: unknown[] = servers instanceof Map ? [...servers.keys()] : []
  if (!(http2 instanceof EventEmitter) || http2.listenerCount('stream') === 0)
    throw new Error('this version of grpc-js keeps its HTTP/2 servers elsewhere')
  return http2
}
