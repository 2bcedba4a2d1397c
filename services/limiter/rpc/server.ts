import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js'
import type { Tracing } from '../../tracing/tracing.ts'
import { MAX_FRAME_BYTES } from '../../wire/protocol.ts'
import type { AdminCallLog } from '../core/admin-call-log.ts'
import { createCallsUnderWay } from '../core/calls-under-way.ts'
import type { Limiter } from '../core/limiter.ts'
import type { HeaderMode } from '../envoy/response.ts'
import { createWaiting, type WaitingLimits } from '../guard/waiting.ts'
import { type Listener, openListener, type Refused, type ServerTls } from '../listen/listener.ts'
import { grpcHandler, grpcMethod } from '../unary/grpc-method.ts'
import { serveUnary } from '../unary/serve-unary.ts'
import { adminCallsService, createAdmin } from './admin.ts'
import type { OnBug } from './guarded.ts'
import { createHealth } from './health.ts'
import { createReflection } from './reflection.ts'
import { createShouldAllow } from './should-allow.ts'
import { createShouldAllowStream, shouldAllowStreamService } from './should-allow-stream.ts'
import { createShouldRateLimit } from './should-rate-limit.ts'

const MAX_STREAMS_PER_CONNECTION = 1_000
/** Clients come back by name, and so find replicas that were added since. */
const MAX_CONNECTION_AGE_MS = 30 * 60_000
/** How long calls under way may take to end once the server drains; the process's own deadline is longer. */
const DRAIN_MS = 4_000

/** One without any call is closed as long after the last; whoever means to call again comes back. */
const MAX_CONNECTION_IDLE_MS = 5 * 60_000

/** Callers that keep the limiter waiting, as a whole: what a pod of the chart has memory for. */
const WAITING: WaitingLimits = {
  patienceMs: 10_000,
  maxCalls: 4_000,
  maxLingering: 8_000,
  maxHeldBytes: 64 * 1024 * 1024,
}

/** A watcher waits for changes; a tool may hold its question open. */
const LASTING = [
  shouldAllowStreamService.ShouldAllowStream.path,
  '/grpc.health.v1.Health/Watch',
  ...['v1', 'v1alpha'].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`),
]

/** What `grpc.health.v1` answers for; the empty name is the whole server. */
const COMPONENTS = ['', 'weir.v1.RateLimit', 'envoy.service.ratelimit.v3.RateLimitService', 'weir.v1.Admin'] as const

/** However they were asked; a further check is refused at once instead of queueing without a bound. */
const MAX_CALLS_UNDER_WAY = 10_000

export type Admin = { readonly readToken: () => Promise<string | undefined>; readonly log: AdminCallLog }

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  /** Absent: Peek and Reset are not served. */
  readonly admin: Admin | undefined
  /** Which of Envoy's responses tell the client of its quota. */
  readonly envoyHeaders: HeaderMode
  /** Absent: TCP connections are not encrypted. */
  readonly tls?: ServerTls | undefined
  readonly onRefused?: (refused: Refused) => void
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

/** Where a server could not listen. */
export type BindFault = { readonly target: string; readonly error: Error }

export type RpcServer = AsyncDisposable & {
  /** `host:port` or `unix:/path`; the port that was taken (0 lets the system choose). */
  readonly listen: (
    target: string,
  ) => Promise<{ readonly ok: true; readonly port: number } | { readonly ok: false; readonly fault: BindFault }>
  /** Other certificates, for connections from now on. */
  readonly renewTls: (tls: ServerTls) => void
}

/** The gRPC server. Disposing of it drains: health says NOT_SERVING, clients are sent away, calls under way are answered. */
export const createRpcServer = (options: Options): RpcServer => {
  const { limiter, admin, onBug, envoyHeaders, tls, onRefused = () => {}, tracing } = options
  // Its complaints reach the caller as values.
  setLogVerbosity(logVerbosity.NONE)
  const callsUnderWay = createCallsUnderWay(MAX_CALLS_UNDER_WAY)
  const waiting = createWaiting(WAITING)
  const stream = createShouldAllowStream({ limiter, onBug, callsUnderWay, waiting, tracing })
  const server = new Server({
    interceptors: [stream.interceptor],
    // Its counters cost every call, and nobody reads them.
    'grpc.enable_channelz': 0,
    'grpc.max_receive_message_length': MAX_FRAME_BYTES,
    'grpc.max_send_message_length': MAX_FRAME_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
    'grpc.max_connection_age_ms': MAX_CONNECTION_AGE_MS,
    'grpc.max_connection_idle_ms': MAX_CONNECTION_IDLE_MS,
  })
  const shouldAllow = createShouldAllow({ limiter, onBug, callsUnderWay, tracing })
  const shouldRateLimit = createShouldRateLimit({ limiter, onBug, callsUnderWay, tracing, headers: envoyHeaders })
  server.addService(
    { ShouldAllow: grpcMethod(shouldAllow), ...shouldAllowStreamService },
    { ShouldAllow: grpcHandler(shouldAllow), ...stream.handlers },
  )
  server.addService({ ShouldRateLimit: grpcMethod(shouldRateLimit) }, { ShouldRateLimit: grpcHandler(shouldRateLimit) })
  if (admin !== undefined) server.addService(adminCallsService, createAdmin({ limiter, onBug, ...admin }))

  const served = COMPONENTS.filter((name) => admin !== undefined || name !== 'weir.v1.Admin')
  const health = createHealth(served)
  health.addToServer(server)
  createReflection({ hasAdmin: admin !== undefined }).addToServer(server)

  // Its own listening has no bound on connections, and its TLS cannot be renewed.
  const injector = server.createConnectionInjector(ServerCredentials.createInsecure())
  serveUnary({ server, methods: [shouldAllow, shouldRateLimit], lasting: LASTING, waiting })
  const listeners: Listener[] = []
  let current = tls

  return {
    listen: async (target) => {
      const opened = await openListener({ target, tls: current, onConnection: injector.injectConnection, onRefused })
      if (!opened.ok) return { ok: false, fault: { target, error: opened.error } }
      listeners.push(opened.listener)
      return { ok: true, port: opened.listener.port }
    },
    renewTls: (next) => {
      current = next
      for (const listener of listeners) listener.renew(next)
    },
    [Symbol.asyncDispose]: async () => {
      for (const name of served) health.setStatus(name, 'NOT_SERVING')
      const closed = Promise.all(listeners.map((listener) => listener.stop()))
      // A health watcher's stream never ends by itself, nor does that of a caller who does not read its decisions.
      const force = setTimeout(() => {
        for (const listener of listeners) listener[Symbol.dispose]()
      }, DRAIN_MS)
      await stream.drain()
      server.tryShutdown(() => {})
      await closed
      clearTimeout(force)
      waiting[Symbol.dispose]()
    },
  }
}
