import { EventEmitter } from 'node:events'
import type { IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import type { Server } from '@grpc/grpc-js'
import { createArrivals } from './arrivals.ts'
import { guardArrival } from './guard-arrival.ts'
import type { UnaryMethod } from './method.ts'
import { serveCall } from './serve-call.ts'
import { parseTimeoutMs } from './timeout.ts'
import { createTurn } from './turn.ts'

const PATIENCE_MS = 5_000
const MAX_HELD_BYTES = 64 * 1024 * 1024

type Options = {
  readonly server: Server
  readonly methods: readonly UnaryMethod[]
  /** Paths of methods whose requests are streams, which may last; all others end soon, or are given up. */
  readonly endless?: readonly string[]
  readonly patienceMs?: number
  readonly maxHeldBytes?: number
}

/**
 * Serves the usual calls of these methods on the connections of a grpc-js server that are injected, without grpc-js: it takes more
 * than the decision itself. All that is unusual in a call – compressed, a timeout that makes no sense – is left to grpc-js,
 * which has to know the methods too.
 */
export const serveUnary = ({ server, methods, endless = [], ...limits }: Options): Disposable => {
  const { patienceMs = PATIENCE_MS, maxHeldBytes = MAX_HELD_BYTES } = limits
  const arrivals = createArrivals({ patienceMs, maxHeldBytes })
  const atTurnEnd = createTurn()
  const byPath = new Map(methods.map((method) => [method.path, method]))
  const http2 = http2ServerOf(server)
  const others = http2.listeners('stream')
  http2.removeAllListeners('stream')
  http2.on('stream', (...event: StreamEvent) => {
    const [stream, headers] = event
    const method = byPath.get(headers[':path'] ?? '')
    const timeout = headers['grpc-timeout']
    const timeoutMs = typeof timeout === 'string' ? parseTimeoutMs(timeout) : undefined
    if (method !== undefined && isPlain(headers) && (timeoutMs !== undefined || timeout === undefined))
      serveCall(stream, { method, headers, timeoutMs, arrivals, atTurnEnd })
    else {
      for (const listener of others) Reflect.apply(listener, http2, event)
      if (!endless.includes(headers[':path'] ?? '')) guardArrival(stream, arrivals)
    }
  })
  return arrivals
}

type StreamEvent = [stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]]

const isPlain = (headers: IncomingHttpHeaders) => {
  const type = headers['content-type']
  const encoding = headers['grpc-encoding']
  return (
    headers[':method'] === 'POST' &&
    (type === 'application/grpc' || type === 'application/grpc+proto') &&
    (encoding === undefined || encoding === 'identity')
  )
}

/** Of the connections that are injected. grpc-js has no public name for it. */
const http2ServerOf = (server: Server): EventEmitter => {
  const servers: unknown = server['http2Servers']
  const [http2]: unknown[] = servers instanceof Map ? [...servers.keys()] : []
  if (!(http2 instanceof EventEmitter) || http2.listenerCount('stream') === 0)
    throw new Error('this version of grpc-js keeps its HTTP/2 servers elsewhere')
  return http2
}
