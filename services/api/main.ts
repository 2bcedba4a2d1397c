// The API as a process: settings in, HTTP and the admin port out, until SIGTERM.
import { type ConnectedLimiterClient, openLimiterClient } from '../limiter-client/open-limiter-client.ts'
import { formatAddress, listenFault } from '../platform/address.ts'
import { openAdminServer } from '../platform/admin-server.ts'
import { createLog } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { openTracing } from '../platform/open-tracing.ts'
import { type Phase, runService, type Started } from '../platform/process.ts'
import { adminRoutes } from './admin-routes.ts'
import { publishConnections, publishGate, publishRequests } from './api-metrics.ts'
import { buildApp } from './app.ts'
import { createConnectionBook } from './http/connection/connection-book.ts'
import { drain } from './http/connection/drain.ts'
import { createCursorSigner } from './http/cursor.ts'
import { redactApiKeys } from './identify/api-key.ts'
import { createIdentify } from './identify/identify.ts'
import { peerAddress } from './identify/peer-address.ts'
import { createOrderRepository } from './orders/repository.ts'
import { ordersRoutes } from './orders/routes.ts'
import { openCursorSecrets, openKeys, openLimiterTls, openOrders } from './resources.ts'
import { readApiSettings } from './settings.ts'

/** The policies of this API, as the limiter's files name them. */
const DOMAIN = 'api'

const start = async (resources: AsyncDisposableStack): Promise<Started> => {
  const read = readApiSettings(process.env)
  if (!read.ok) return read
  const { settings } = read
  const log = createLog('api', settings.LOG_LEVEL, redactApiKeys)
  const tracing = await openTracing({ service: 'weir-api', settings, log })
  if (tracing !== undefined) resources.use(tracing)

  const [keys, secrets, tls, database] = await Promise.all([
    openKeys(settings.API_KEYS, log),
    openCursorSecrets(settings.API_CURSOR_SECRET_FILE, log),
    openLimiterTls(settings.limiterTls, log),
    openOrders(settings, log),
  ])
  if (keys.ok) resources.use(keys.value)
  if (secrets.ok) resources.use(secrets.value)
  if (tls.ok) resources.use(tls.value)
  if (database.ok) resources.use(database.value)
  if (!keys.ok || !secrets.ok || !tls.ok || !database.ok)
    return { ok: false, faults: [keys, secrets, tls, database].flatMap((opened) => (opened.ok ? [] : opened.faults)) }

  const metrics = createMetrics()
  const limiter: ConnectedLimiterClient = resources.use(
    openLimiterClient({
      address: settings.API_LIMITER,
      tls: tls.value?.current,
      deadlineMs: settings.API_LIMITER_DEADLINE_MS,
      fallback: settings.fallback,
      traceContext: tracing && (() => tracing.active()?.at),
      observe: publishGate({ metrics, log, countReplicas: () => limiter.countReplicas() }),
    }),
  )

  let phase: Phase = 'starting'
  const admin = await openAdminServer({
    setting: 'API_ADMIN_ADDRESS',
    address: settings.API_ADMIN_ADDRESS,
    routes: adminRoutes({ metrics, limiter, domain: DOMAIN, phase: () => phase }),
  })
  if (!admin.ok) return { ok: false, faults: [admin.fault] }
  resources.use(admin.server)

  const connections = createConnectionBook({
    perAddress: settings.API_CONNECTIONS_PER_ADDRESS,
    addressOf: (peer) => peerAddress(peer, settings.API_TRUSTED_PROXIES),
  })
  publishConnections(metrics, connections)
  const app = buildApp({
    log,
    identify: createIdentify({ trustedProxies: settings.API_TRUSTED_PROXIES, keys: keys.value.current }),
    limiter,
    domain: DOMAIN,
    resources: [
      ordersRoutes({
        orders: createOrderRepository(database.value),
        cursors: createCursorSigner(secrets.value.current),
      }),
    ],
    isDraining: () => phase === 'draining',
    connections,
    observe: publishRequests(metrics),
    tracing,
  })
  resources.defer(async () => {
    phase = 'draining'
    log.info({ event: 'draining' }, 'draining')
    await drain(app.server, connections.isAnswering)
    await app.close()
  })
  await app.ready()
  try {
    const { host, port } = settings.API_ADDRESS
    const url = new URL(await app.listen({ host, port }))
    phase = 'serving'
    log.info(
      {
        address: formatAddress({ ...settings.API_ADDRESS, port: Number(url.port || 80) }),
        admin: formatAddress({ ...settings.API_ADMIN_ADDRESS, port: admin.server.port }),
      },
      'serving',
    )
    return { ok: true }
  } catch (error) {
    return { ok: false, faults: [listenFault('API_ADDRESS', settings.API_ADDRESS, error as Error)] }
  }
}

await runService({ name: 'api', start })
