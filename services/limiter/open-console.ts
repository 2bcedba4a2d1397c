import type { AdminRoutes } from '../platform/admin-server.ts'
import { createEventStream } from '../platform/event-stream.ts'
import type { Timers } from '../seams/timers.ts'
import { bucketCalls, type ConsoleAdmin } from './console/bucket-calls.ts'
import { pageRoutes } from './console/page-files.ts'
import type { Limiter } from './core/limiter.ts'
import type { StoreStats } from './open-store.ts'
import type { PolicyStatus } from './policies/live.ts'
import type { CheckCounts } from './telemetry/check-metrics.ts'

const EVERY_MS = 1_000
/** Pages that are open at one time: operators, not the world. */
const MAX_LISTENERS = 16

type Sources = {
  readonly limiter: Limiter
  readonly admin: ConsoleAdmin | undefined
  readonly checks: () => CheckCounts
  readonly violations: () => number
  readonly store: { readonly kind: string; readonly stats: StoreStats }
  readonly status: () => PolicyStatus
  readonly isDraining: () => boolean
  readonly monotonicUs: () => number
  readonly timers: Timers
}

/** The console: its files, its live numbers, and what it asks of buckets. */
export const openConsole = (sources: Sources): { readonly routes: AdminRoutes } & Disposable => {
  const { limiter, admin, checks, violations, store, status, isDraining, monotonicUs, timers } = sources
  const read = () => {
    const { generation, digest, lastReload } = status()
    return {
      atMs: Math.round(monotonicUs() / 1_000),
      generation,
      digest,
      lastReload,
      isDraining: isDraining(),
      ...checks(),
      violations: violations(),
      store: { ...store.stats.read(), kind: store.kind },
    }
  }
  const live = createEventStream({ read, everyMs: EVERY_MS, maxListeners: MAX_LISTENERS, timers })
  return {
    routes: { ...pageRoutes(), ...bucketCalls({ limiter, admin }), '/console/live': live },
    [Symbol.dispose]: live[Symbol.dispose],
  }
}
