// The limiter as a process: settings in, gRPC and the admin port out, until SIGTERM.
import { readFile } from 'node:fs/promises'
import { formatAddress, listenFault } from '../platform/address.ts'
import { openAdminServer } from '../platform/admin-server.ts'
import { createLog, type Log } from '../platform/log.ts'
import { createMetrics } from '../platform/metrics.ts'
import { cutOpaque } from '../platform/opaque.ts'
import { openTracing } from '../platform/open-tracing.ts'
import { type Phase, runService, type Started } from '../platform/process.ts'
import { sampled } from '../platform/sampled.ts'
import { systemMonotonicClock, systemWallClock } from '../seams/clock.ts'
import { systemTimers } from '../seams/timers.ts'
import { adminRoutes } from './admin-routes.ts'
import { type AdminCall, createAudit, shownProblem } from './audit.ts'
import { createLimiter } from './core/limiter.ts'
import type { Refused } from './listen/listener.ts'
import { openConsole } from './open-console.ts'
import { openRehearsal } from './open-rehearsal.ts'
import { openStore } from './open-store.ts'
import { openTls } from './open-tls.ts'
import { changesOf } from './policies/changes.ts'
import { openLivePolicies } from './policies/live.ts'
import { type Admin, createRpcServer } from './rpc/server.ts'
import { carriesToken } from './rpc/token.ts'
import { readLimiterSettings } from './settings.ts'
import { startCanary } from './telemetry/canary.ts'
import { publishChecks } from './telemetry/check-metrics.ts'
import { publishConservation } from './telemetry/conservation-metrics.ts'
import { publishMemoryStore } from './telemetry/memory-store-metrics.ts'
import { publishPolicies } from './telemetry/policy-metrics.ts'
import { observeRefusals } from './telemetry/refusals.ts'
import { publishOutages, publishSharedStore, publishWitnesses } from './telemetry/shared-store-metrics.ts'
import { publishStoreCalls } from './telemetry/store-metrics.ts'
import { createTopOffenders } from './telemetry/top-offenders.ts'

/** Anybody can fail a handshake; one line a second says so. */
const REFUSED_LOG_MS = 1_000

const start = async (resources: AsyncDisposableStack): Promise<Started> => {
  const read = readLimiterSettings(process.env)
  if (!read.ok) return read
  const { settings } = read
  const log = createLog('limiter', settings.LOG_LEVEL, cutOpaque)

  const tracing = await openTracing({ service: 'weir-limiter', settings, log })
  if (tracing !== undefined) resources.use(tracing)
  const metrics = createMetrics()
  const openedTls = await openTls(settings, log, metrics)
  if (!openedTls.ok) return openedTls
  const tls = openedTls.tls === undefined ? undefined : resources.use(openedTls.tls)

  const audit = createAudit(log, settings.LIMITER_POLICIES)
  const opened = await openLivePolicies({
    path: settings.LIMITER_POLICIES,
    onReload: (status, changes) => audit.reloaded(status, changes),
  })
  if (!opened.ok) return { ok: false, faults: opened.problems.map(shownProblem) }
  const policies = resources.use(opened.policies)
  audit.loaded(policies.status(), changesOf(new Map(), policies.current()))

  const admin = await openAdmin(settings.LIMITER_ADMIN_TOKEN_FILE, log, (reset) =>
    audit.reset(reset, policies.status().generation),
  )
  if (!admin.ok) return admin

  publishPolicies(metrics, policies)
  const conservation = publishConservation(metrics)
  const { monotonicUs } = systemMonotonicClock
  const observer = {
    called: publishStoreCalls(metrics),
    violated: conservation.violated,
    givenUp: publishOutages(metrics, monotonicUs),
  }
  const store = await openStore({ settings, log, observer, tracing })
  if (!store.ok) return store
  resources.use(store.store)
  if (store.stats.kind === 'memory') publishMemoryStore(metrics, store.stats.read)
  else {
    const { read: readStats } = store.stats
    publishSharedStore(metrics, readStats)
    publishWitnesses(metrics, () => readStats().witnesses)
  }
  const top = createTopOffenders(monotonicUs())
  const checks = publishChecks(metrics, monotonicUs)
  const deciding = createLimiter({
    policies: policies.current,
    store: store.store,
    localStore: store.localStore,
    observer: observeRefusals({
      observer: checks.observer,
      top,
      subjectOf: (domain) => policies.current().get(domain)?.subject,
      log: (refusal) => log.info({ event: 'check.refused', ...refusal }, 'refused'),
      monotonicUs,
    }),
  })

  const rehearsal = resources.use(
    await openRehearsal({
      settings,
      policies,
      limiter: deciding,
      openStore: store.openRehearsalStore,
      metrics,
      log,
    }),
  )
  const { limiter } = rehearsal

  let phase: Phase = 'starting'
  const operatorConsole = openConsole({
    limiter,
    admin: admin.value && {
      carriesToken: (sent) => carriesToken(sent, admin.value?.readToken ?? (async () => undefined)),
      log: admin.value.log,
    },
    checks: checks.read,
    violations: conservation.violations,
    store: { kind: settings.LIMITER_STORE.kind, stats: store.stats },
    status: policies.status,
    isDraining: () => phase === 'draining',
    monotonicUs,
    timers: systemTimers,
  })
  const routes = adminRoutes({
    metrics,
    policies,
    top: () => top.read(monotonicUs()),
    rehearsal: rehearsal.page,
    phase: () => phase,
  })
  const adminServer = await openAdminServer({
    setting: 'LIMITER_ADMIN_ADDRESS',
    address: settings.LIMITER_ADMIN_ADDRESS,
    routes: { ...routes, ...operatorConsole.routes },
  })
  if (!adminServer.ok) return { ok: false, faults: [adminServer.fault] }
  resources.use(adminServer.server)
  resources.use(operatorConsole)

  const server = resources.use(
    createRpcServer({
      envoyHeaders: settings.LIMITER_ENVOY_HEADERS,
      limiter,
      admin: admin.value,
      tls: tls?.current(),
      tracing,
      onBug: (error) => log.error({ err: error }, 'a call met a bug'),
      onRefused: sampled(REFUSED_LOG_MS, ({ error, peer }: Refused, unsaid) =>
        log.warn({ error: error.message, peer, unsaid }, 'a connection ended in its TLS handshake'),
      ),
    }),
  )
  tls?.onRenewal(server.renewTls)
  for (const address of settings.LIMITER_ADDRESS) {
    const bound = await server.listen(formatAddress(address))
    if (!bound.ok) return { ok: false, faults: [listenFault('LIMITER_ADDRESS', address, bound.fault.error)] }
  }

  if (store.ledger !== undefined)
    resources.use(
      startCanary({
        store: store.store,
        addToLedger: store.ledger.add,
        clock: systemWallClock,
        timers: systemTimers,
        observe: conservation.canary,
      }),
    )

  phase = 'serving'
  log.info(
    { address: settings.LIMITER_ADDRESS.map(formatAddress), admin: formatAddress(settings.LIMITER_ADMIN_ADDRESS) },
    'serving',
  )
  resources.defer(() => {
    phase = 'draining'
    log.info({ event: 'draining' }, 'draining')
  })
  return { ok: true }
}

type OpenAdmin =
  | { readonly ok: true; readonly value: Admin | undefined }
  | { readonly ok: false; readonly faults: readonly string[] }

const openAdmin = async (
  tokenFile: string | undefined,
  log: Log,
  auditReset: (call: AdminCall) => void,
): Promise<OpenAdmin> => {
  if (tokenFile === undefined) return { ok: true, value: undefined }
  const readToken = async () => {
    const token = (await readFile(tokenFile, 'utf8').catch(() => '')).trim()
    return token === '' ? undefined : token
  }
  if ((await readToken()) === undefined)
    return {
      ok: false,
      faults: [`LIMITER_ADMIN_TOKEN_FILE: ${tokenFile} cannot be read or is empty: put the token in it`],
    }
  // Anybody can call without a token; one line a second says so.
  const logRefused = sampled(1_000, (call: object, unsaid) =>
    log.warn({ event: 'admin.unauthenticated', ...call, unsaid }, 'admin call without the token'),
  )
  const logCall: Admin['log'] = (call) => {
    if (call.result === 'unauthenticated') logRefused(call)
    else if (call.method === 'Reset') auditReset(call)
    else log.info(call, 'admin call')
  }
  return { ok: true, value: { readToken, log: logCall } }
}

await runService({ name: 'limiter', start })
