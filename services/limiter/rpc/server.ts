import { logVerbosity, Server, ServerCredentials, setLogVerbosity } from '@grpc/grpc-js'
import { MAX_FRAME_BYTES } from '../../wire/protocol.ts'
import type { Limiter } from '../core/limiter.ts'
import type { HeaderMode } from '../envoy/response.ts'
import { type AdminCallLog, adminCallsService, createAdmin } from './admin.ts'
import { createCallsUnderWay } from './calls-under-way.ts'
import type { OnBug } from './guarded.ts'
import { createHealth } from './health.ts'
import { createReflection } from './reflection.ts'
import { createShouldAllow, shouldAllowService } from './should-allow.ts'
import { createShouldAllowStream, shouldAllowStreamService } from './should-allow-stream.ts'
import { createShouldRateLimit, shouldRateLimitService } from './should-rate-limit.ts'
import { removeStaleSocket, restrictSocket } from './unix-socket.ts'

const MAX_STREAMS_PER_CONNECTION = 1_000
const MAX_METADATA_BYTES = 8 * 1024
/** Clients come back by name, and so find replicas that were added since. */
const MAX_CONNECTION_AGE_MS = 30 * 60_000
/** How long calls under way may take to end once the server drains; the process's own deadline is longer. */
const DRAIN_MS = 4_000
const ASK_AGAIN_MS = 100

/** What `grpc.health.v1` answers for; the empty name is the whole server. */
const COMPONENTS = ['', 'weir.v1.RateLimit', 'envoy.service.ratelimit.v3.RateLimitService', 'weir.v1.Admin'] as const

export type Admin = { readonly readToken: () => Promise<string | undefined>; readonly log: AdminCallLog }

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  /** Absent: Peek and Reset are not served. */
  readonly admin: Admin | undefined
  /** Which of Envoy's responses tell the client of its quota. */
  readonly envoyHeaders: HeaderMode
}

/** Where a server could not listen. */
export type BindFault = { readonly target: string; readonly error: Error }

export type RpcServer = AsyncDisposable & {
  /** `host:port` or `unix:/path`; the port that was taken (0 lets the system choose). */
  readonly listen: (
    target: string,
  ) => Promise<{ readonly ok: true; readonly port: number } | { readonly ok: false; readonly fault: BindFault }>
}

/** The gRPC server. Disposing of it drains: health says NOT_SERVING, clients are sent away, calls under way are answered. */
export const createRpcServer = ({ limiter, admin, onBug, envoyHeaders }: Options): RpcServer => {
  // Its complaints reach the caller as values.
  setLogVerbosity(logVerbosity.NONE)
  const callsUnderWay = createCallsUnderWay()
  const stream = createShouldAllowStream({ limiter, onBug, callsUnderWay })
  const server = new Server({
    interceptors: [stream.interceptor],
    'grpc.max_receive_message_length': MAX_FRAME_BYTES,
    'grpc.max_send_message_length': MAX_FRAME_BYTES,
    'grpc.max_concurrent_streams': MAX_STREAMS_PER_CONNECTION,
    'grpc.max_metadata_size': MAX_METADATA_BYTES,
    'grpc.max_connection_age_ms': MAX_CONNECTION_AGE_MS,
  })
  server.addService(
    { ...shouldAllowService, ...shouldAllowStreamService },
    { ...createShouldAllow({ limiter, onBug, callsUnderWay }), ...stream.handlers },
  )
  server.addService(
    shouldRateLimitService,
    createShouldRateLimit({ limiter, onBug, callsUnderWay, headers: envoyHeaders }),
  )
  if (admin !== undefined) server.addService(adminCallsService, createAdmin({ limiter, onBug, ...admin }))

  const served = COMPONENTS.filter((name) => admin !== undefined || name !== 'weir.v1.Admin')
  const health = createHealth(served)
  health.addToServer(server)
  createReflection().addToServer(server)

  return {
    listen: async (target) => {
      const socketPath = target.startsWith('unix:') ? target.slice('unix:'.length) : undefined
      if (socketPath !== undefined) await removeStaleSocket(socketPath)
      const bound = await bind(server, target)
      if (bound.ok && socketPath !== undefined) await restrictSocket(socketPath)
      return bound
    },
    [Symbol.asyncDispose]: async () => {
      for (const name of served) health.setStatus(name, 'NOT_SERVING')
      // A health watcher's stream never ends by itself, nor does that of a caller who does not read its decisions.
      const force = setTimeout(() => server.forceShutdown(), DRAIN_MS)
      await stream.drain()
      await shutDown(server)
      clearTimeout(force)
    },
  }
}

const bind = (server: Server, target: string) =>
  new Promise<Awaited<ReturnType<RpcServer['listen']>>>((resolve) => {
    server.bindAsync(target, ServerCredentials.createInsecure(), (error, port) =>
      resolve(error === null ? { ok: true, port } : { ok: false, fault: { target, error } }),
    )
  })

const shutDown = (server: Server) =>
  new Promise<void>((resolve) => {
    // grpc-js waits for ever for a connection that was just breaking: Node tells nobody of its end. Asked again, it does not
    // know that connection any more, and has told all others to close.
    const askAgain = setTimeout(() => server.tryShutdown(done), ASK_AGAIN_MS)
    const done = () => {
      clearTimeout(askAgain)
      resolve()
    }
    server.tryShutdown(done)
  })
