import { randomUUID } from 'node:crypto'
import type { RequestListener } from 'node:http'
import { type FastifyBaseLogger, type FastifyInstance, type FastifyPluginAsync, fastify, LogController } from 'fastify'
import type { LimiterClient } from '../limiter-client/client.ts'
import type { Tracing } from '../tracing/tracing.ts'
import { admit, routeName } from './admission.ts'
import { describeApi } from './document/describe-api.ts'
import type { ConnectionBook } from './http/connection/connection-book.ts'
import { createConnections } from './http/connection/connections.ts'
import { httpLimits } from './http/connection/limits.ts'
import { routedTarget } from './http/connection/request-target.ts'
import { renderErrors } from './http/render-errors.ts'
import type { Identify } from './identify/identify.ts'
import { createRequestTraces, traceGate } from './trace-requests.ts'

/** What is known of a request once it has been answered. */
export type Answered = { readonly route: string; readonly status: number; readonly seconds: number }

export type Ports = {
  readonly log: FastifyBaseLogger
  readonly identify: Identify
  /** Without one there is no gate: to measure what it costs. */
  readonly limiter: LimiterClient | undefined
  /** The set of policies that requests are looked up in. */
  readonly domain: string
  /** The resources that the API serves. */
  readonly resources: readonly FastifyPluginAsync[]
  /** While true, every answer is the last one of its connection. */
  readonly isDraining: () => boolean
  readonly connections: ConnectionBook
  readonly observe?: (answered: Answered) => void
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

/** The API, not listening. Its order is a request's journey: connection → admission → body → route → answer. */
export const buildApp = (ports: Ports): FastifyInstance => {
  const route: RequestListener = (request, response) => app.routing(request, response)
  const traces = ports.tracing && createRequestTraces(ports.tracing, route)
  const connections = createConnections(traces?.dispatch ?? route, ports.connections)
  const app: FastifyInstance = fastify({
    // Of one address only, whatever the host's name stands for: this is the server that is drained.
    serverFactory: connections.createServer,
    bodyLimit: httpLimits.bodyBytes,
    clientErrorHandler: connections.onClientError,
    rewriteUrl: routedTarget,
    // An id of any length is one that no order has; the URL as a whole is bounded.
    routerOptions: { maxParamLength: httpLimits.urlLength },
    return503OnClosing: false,
    genReqId: () => randomUUID(),
    loggerInstance: withoutInfo(ports.log),
    // Fastify's own lines hold URLs and headers, where clients put keys by mistake.
    logController: new LogController({ disableRequestLogging: true }),
  })
  renderErrors(app)
  // A resource names the types that it reads; every other is 415.
  app.removeAllContentTypeParsers()
  admit(app, { ...ports, limiter: tracedLimiter(ports) })
  app.addHook('preParsing', (request, reply, _payload, done) => {
    connections.admitBody(request.raw, reply.raw)
    done()
  })
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isRefusal = reply.statusCode >= 400
    if (ports.isDraining() || (isRefusal && ports.connections.isNearlyFull())) reply.header('connection', 'close')
    if (typeof payload === 'string' || payload instanceof Uint8Array)
      connections.announceAnswer(reply.raw, payload.length)
    done()
  })
  app.addHook('onResponse', (request, reply, done) => {
    const answered = { route: routeName(request), status: reply.statusCode, seconds: reply.elapsedTime / 1000 }
    request.log.debug({ ...answered, method: request.method, client: request.identity.client }, 'answered')
    ports.observe?.(answered)
    traces?.routed(request.raw, answered.route)
    done()
  })
  describeApi(app)
  for (const resource of ports.resources) app.register(resource)
  return app
}

const tracedLimiter = ({ limiter, tracing }: Ports) =>
  limiter === undefined || tracing === undefined ? limiter : traceGate(limiter, tracing)

/** What Fastify would tell at `info` is that it listens, and that is told by whoever made it listen. */
const withoutInfo = (log: FastifyBaseLogger) => (log.level === 'info' ? log.child({}, { level: 'warn' }) : log)
