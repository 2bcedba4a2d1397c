// The API as a process: settings in, HTTP and the admin port out, until SIGTERM.
import { createLimiterClient } from '../limiter-client/client.ts'
import { createGrpcTransport } from '../limiter-client/grpc-transport.ts'
import { formatAddress, listenFault } from '../platform/address.ts'
import { openAdminServer } from '../platform/admin-server.ts'
import { createLog, type Log } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { runService, type Started } from '../platform/process.ts'
import { systemMonotonicClock } from '../seams/clock.ts'
import { systemRandomness } from '../seams/randomness.ts'
import { systemTimers } from '../seams/timers.ts'
import { adminRoutes } from './admin-routes.ts'
import { publishGate, publishRequests } from './api-metrics.ts'
import { buildApp } from './app.ts'
import { drain } from './http/connection/drain.ts'
import { redactApiKeys } from './identify/api-key.ts'
import type { ApiKeys } from './identify/api-keys.ts'
import { createIdentify } from './identify/identify.ts'
import { type KeysReload, openLiveKeys } from './identify/live-keys.ts'
import { readApiSettings } from './settings.ts'

/** The policies of this API, as the limiter's files name them. */
const DOMAIN = 'api'
const KEYS_POLL_MS = 1_000

const start = async (resources: AsyncDisposableStack): Promise<Started> => {
  const read = readApiSettings(process.env)
  if (!read.ok) return read
  const { settings } = read
  const log = createLog('api', settings.LOG_LEVEL, redactApiKeys)

  const keys = await openKeys(settings.API_KEYS, log, resources)
  if (!keys.ok) return keys

  const metrics = createMetrics()
  const limiter = resources.use(
    createLimiterClient({
      transport: createGrpcTransport({ address: settings.API_LIMITER }),
      deadlineMs: settings.API_LIMITER_DEADLINE_MS,
      fallback: settings.fallback,
      monotonicClock: systemMonotonicClock,
      timers: systemTimers,
      randomness: systemRandomness,
      observe: publishGate(metrics, log),
    }),
  )

  let isDraining = false
  const admin = await openAdminServer({
    setting: 'API_ADMIN_ADDRESS',
    address: settings.API_ADMIN_ADDRESS,
    routes: adminRoutes({ metrics, limiter, domain: DOMAIN, isDraining: () => isDraining }),
  })
  if (!admin.ok) return { ok: false, faults: [admin.fault] }
  resources.use(admin.server)

  const app = buildApp({
    log,
    identify: createIdentify({ trustedProxies: settings.API_TRUSTED_PROXIES, keys: keys.current }),
    limiter,
    domain: DOMAIN,
    resources: [],
    isDraining: () => isDraining,
    observe: publishRequests(metrics),
  })
  resources.defer(async () => {
    isDraining = true
    log.info('draining')
    await drain(app.server)
    await app.close()
  })
  try {
    const { host, port } = settings.API_ADDRESS
    await app.listen({ host, port })
  } catch (error) {
    return { ok: false, faults: [listenFault('API_ADDRESS', settings.API_ADDRESS, error as Error)] }
  }
  log.info(
    {
      address: formatAddress({ ...settings.API_ADDRESS, port: app.addresses()[0]?.port ?? 0 }),
      admin: formatAddress({ ...settings.API_ADMIN_ADDRESS, port: admin.server.port }),
    },
    'serving',
  )
  return { ok: true }
}

type OpenKeys =
  | { readonly ok: true; readonly current: () => ApiKeys }
  | { readonly ok: false; readonly faults: readonly string[] }

const openKeys = async (path: string | undefined, log: Log, resources: AsyncDisposableStack): Promise<OpenKeys> => {
  if (path === undefined) return { ok: true, current: () => new Map() }
  const onReload = (reload: KeysReload) => {
    if (reload.ok) log.info({ keys: reload.keys }, 'API keys reloaded')
    else log.error({ problems: reload.problems }, 'API keys not reloaded: the last good ones stay in force')
  }
  const opened = await openLiveKeys({ path, pollMs: KEYS_POLL_MS, onReload })
  if (!opened.ok) return { ok: false, faults: opened.problems.map((problem) => `API_KEYS: ${problem}`) }
  const keys = resources.use(opened.keys)
  return { ok: true, current: keys.current }
}

await runService({ name: 'api', start })
