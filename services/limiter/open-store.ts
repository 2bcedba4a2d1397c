import { readFile } from 'node:fs/promises'
import type { Log } from '../platform/log.ts'
import { sampled } from '../platform/sampled.ts'
import { parseTlsMaterial } from '../platform/tls-files.ts'
import { systemMonotonicClock, systemWallClock } from '../seams/clock.ts'
import { systemRandomness } from '../seams/randomness.ts'
import { systemTimers } from '../seams/timers.ts'
import type { Tracing } from '../tracing/tracing.ts'
import { apart } from './core/apart.ts'
import { createMemoryStore, type MemoryStoreStats } from './core/memory-store.ts'
import type { BucketStore } from './core/store.ts'
import type { Ledger } from './redis/ledger.ts'
import type { StoreObserver } from './redis/observe-run.ts'
import { openRedisStore } from './redis/open-redis-store.ts'
import type { LimiterSettings } from './settings.ts'
import { readShardSecret } from './shard-secret.ts'
import { createSharingStore, type SharingStats } from './share/sharing-store.ts'
import type { WitnessStats } from './witness/witnesses.ts'

/** While the store is away every call fails: one line a second says so. */
const STORE_ERROR_LOG_MS = 1_000

/** Nobody waits for a rehearsal. */
const REHEARSAL_DEADLINE_MS = 1_000
/** In memory it has buckets for fewer subjects than what decides. */
const REHEARSAL_BOUNDS = { maxGroups: 50_000, maxBytes: 32 * 1024 * 1024 }

export type StoreStats =
  | { readonly kind: 'memory'; readonly read: () => MemoryStoreStats }
  | { readonly kind: 'redis'; readonly read: () => RedisStoreStats }

export type RedisStoreStats = SharingStats & {
  /** Shards that this limiter has given up for now. */
  readonly givenUpShards: number
  /** Limiters that shared the store lately. */
  readonly limiters: number
  /** None where LIMITER_WITNESSES is off. */
  readonly witnesses: WitnessStats | undefined
}

export type OpenStore =
  | {
      readonly ok: true
      readonly store: BucketStore & AsyncDisposable
      /** Counts what the store does not answer for. */
      readonly localStore: Pick<BucketStore, 'take'>
      readonly stats: StoreStats
      /** Only of a store that limiters share. */
      readonly ledger: Ledger | undefined
      /** Where a rehearsal keeps its buckets: apart from those that decide, and in their way nowhere. */
      readonly openRehearsalStore: () => BucketStore
    }
  | { readonly ok: false; readonly faults: readonly string[] }

/** `givenUp`: told how many shards are, whenever that changes. */
type Observer = Omit<StoreObserver, 'failed'> & { readonly givenUp: (shards: number) => void }

type Options = {
  readonly settings: LimiterSettings
  readonly log: Log
  readonly observer: Observer
  /** Absent: nothing is traced. */
  readonly tracing: Tracing | undefined
}

/** Opens the store that `LIMITER_STORE` names. */
export const openStore = async ({ settings, log, observer, tracing }: Options): Promise<OpenStore> => {
  const { monotonicUs } = systemMonotonicClock
  const address = settings.LIMITER_STORE
  if (address.kind === 'memory') {
    const store = createMemoryStore({ nowUs: monotonicUs })
    const stats = { kind: 'memory', read: store.stats } as const
    const disposable = { ...store, [Symbol.asyncDispose]: async () => {} }
    const openRehearsalStore = () => createMemoryStore({ nowUs: monotonicUs, ...REHEARSAL_BOUNDS })
    return { ok: true, store: disposable, localStore: store, stats, ledger: undefined, openRehearsalStore }
  }
  const files = await readFiles({
    password: ['LIMITER_STORE_PASSWORD_FILE', settings.LIMITER_STORE_PASSWORD_FILE],
    sentinelPassword: ['LIMITER_STORE_SENTINEL_PASSWORD_FILE', settings.LIMITER_STORE_SENTINEL_PASSWORD_FILE],
    ca: ['LIMITER_STORE_TLS_CA', settings.LIMITER_STORE_TLS_CA],
    cert: ['LIMITER_STORE_TLS_CERT', settings.LIMITER_STORE_TLS_CERT],
    key: ['LIMITER_STORE_TLS_KEY', settings.LIMITER_STORE_TLS_KEY],
  })
  const shardSecret = await readShardSecret(settings.LIMITER_SHARD_SECRET_FILE)
  const faults = [
    ...(files.ok ? tlsProblems(files.texts, settings) : files.faults),
    ...(shardSecret.ok ? [] : [shardSecret.fault]),
  ]
  if (!files.ok || !shardSecret.ok || faults.length > 0) return { ok: false, faults }
  const { texts } = files
  const failed = sampled(STORE_ERROR_LOG_MS, (error: Error, unsaid) =>
    log.warn({ event: 'store.failing', error: error.message, unsaid }, 'the store fails'),
  )
  let givenUpShards = 0
  const seams = { timers: systemTimers, randomness: systemRandomness, monotonicUs }
  const opened = await openRedisStore({
    address,
    credentials: {
      ...texts,
      password: texts.password?.trim(),
      sentinelUser: settings.LIMITER_STORE_SENTINEL_USER,
      sentinelPassword: texts.sentinelPassword?.trim(),
    },
    deadlineMs: settings.LIMITER_STORE_DEADLINE_MS,
    shardCount: settings.LIMITER_SHARDS,
    shardSecret: shardSecret.secret,
    stateFormat: settings.LIMITER_STATE_FORMAT,
    witnessing: settings.LIMITER_WITNESSES === 'on',
    ...seams,
    onGivenUp: (shards) => {
      logOutage(log, givenUpShards, shards)
      givenUpShards = shards
      observer.givenUp(shards)
    },
    onError: failed,
    observer: { ...observer, failed },
    tracing,
  })
  if (!opened.ok) return { ok: false, faults: [`LIMITER_STORE: ${opened.fault}`] }
  for (const warning of opened.warnings) log.warn(warning)
  const replicas = opened.limiters
  const sharing = createSharingStore({ remote: opened.store, replicas, ...seams })
  const dispose = () => opened.store[Symbol.asyncDispose]()
  return {
    ok: true,
    store: { ...sharing.store, [Symbol.asyncDispose]: dispose },
    localStore: sharing.local,
    ledger: opened.ledger,
    openRehearsalStore: () => apart(opened.openAside(REHEARSAL_DEADLINE_MS)),
    stats: {
      kind: 'redis',
      read: () => ({ ...sharing.stats(), givenUpShards, limiters: replicas(), witnesses: opened.witnessStats?.() }),
    },
  }
}

/** Without a look at them the driver says what is wrong in OpenSSL's words, and of which file nowhere. */
const tlsProblems = (
  texts: Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>,
  settings: LimiterSettings,
): readonly string[] => {
  const names = {
    ca: `LIMITER_STORE_TLS_CA: ${settings.LIMITER_STORE_TLS_CA}`,
    cert: `LIMITER_STORE_TLS_CERT: ${settings.LIMITER_STORE_TLS_CERT}`,
    key: `LIMITER_STORE_TLS_KEY: ${settings.LIMITER_STORE_TLS_KEY}`,
  }
  const parsed = parseTlsMaterial(texts, names, systemWallClock)
  return parsed.ok ? [] : parsed.problems
}

/** Once when it begins, and once when it is over. */
const logOutage = (log: Log, before: number, shards: number) => {
  if (before === 0)
    log.warn({ event: 'store.away' }, 'the store does not answer: this limiter counts its share of it alone')
  if (shards === 0) log.info({ event: 'store.back' }, 'the store answers again')
}

type Files<Name extends string> =
  | { readonly ok: true; readonly texts: Readonly<Record<Name, string | undefined>> }
  | { readonly ok: false; readonly faults: readonly string[] }

/** Reads the files that settings name; every one that cannot be read is a fault. */
const readFiles = async <Name extends string>(
  wanted: Readonly<Record<Name, readonly [setting: string, path: string | undefined]>>,
): Promise<Files<Name>> => {
  const texts: Partial<Record<Name, string | undefined>> = {}
  const faults: string[] = []
  for (const [name, [setting, path]] of Object.entries(wanted) as [Name, readonly [string, string | undefined]][]) {
    texts[name] =
      path === undefined
        ? undefined
        : await readFile(path, 'utf8').catch(() => void faults.push(`${setting}: ${path} cannot be read`))
  }
  return faults.length === 0 ? { ok: true, texts: texts as Record<Name, string | undefined> } : { ok: false, faults }
}
