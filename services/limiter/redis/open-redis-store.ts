import { randomUUID } from 'node:crypto'
import type { Timers } from '../../seams/timers.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import type { BucketStore } from '../core/store.ts'
import type { RemoteStore } from '../share/debit.ts'
import { createHighWater } from '../share/high-water.ts'
import { createWitnesses, type WitnessStats } from '../witness/witnesses.ts'
import { type Credentials, createConnection, type RedisConnection } from './connect.ts'
import { startHeartbeats } from './heartbeats.ts'
import { createLedger, type Ledger } from './ledger.ts'
import { observeRun, type StoreObserver } from './observe-run.ts'
import { createRedisStore } from './redis-store.ts'
import { createRunScript } from './run-script.ts'
import { createShards, secretFingerprint } from './shards.ts'
import type { RedisAddress } from './store-address.ts'
import { ruleHash, type StateFormat } from './take-script.ts'

const SHARDS_KEY = 'weir:meta'
const CONNECT_DEADLINE_MS = 10_000
/** Enough that limiter and Redis work at the same time. */
const LANES_OF_ONE_SERVER = 2

export type OpenRedisStore =
  | {
      readonly ok: true
      readonly store: RemoteStore & AsyncDisposable
      /** Limiters that shared this store lately, this one included. */
      readonly limiters: () => number
      /** None where nobody looks for lost writes. */
      readonly witnessStats: (() => WitnessStats) | undefined
      readonly ledger: Ledger
      /**
       * The same Redis for what nobody waits for: it has its own queues and breakers, so that it delays and gives up nothing else, and
       * neither compares replies with what was seen nor takes the place of buckets that are.
       */
      readonly openAside: (deadlineMs: number) => BucketStore
      /** What an operator should mend, though the store works. */
      readonly warnings: readonly string[]
    }
  | { readonly ok: false; readonly fault: string }

type Options = {
  readonly address: RedisAddress
  readonly credentials: Credentials
  readonly deadlineMs: number
  readonly shardCount: number
  /** By which subjects are spread over shards; absent: by their names alone. */
  readonly shardSecret?: string | undefined
  readonly stateFormat: StateFormat
  /** Whether writes that the store has lost are found and made good. */
  readonly witnessing: boolean
  readonly timers: Timers
  readonly randomness: () => number
  readonly monotonicUs: () => number
  /** A connection failed. */
  readonly onError: (error: Error) => void
  readonly observer: StoreObserver
  /** Told how many shards are given up, whenever that changes. */
  readonly onGivenUp?: (shards: number) => void
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

/** Connects, and makes sure that every limiter of this Redis spreads its buckets over the same number of shards. */
export const openRedisStore = async (options: Options): Promise<OpenRedisStore> => {
  const { address, credentials, randomness, onError, observer, shardCount, shardSecret, stateFormat } = options
  const { witnessing, deadlineMs } = options
  const { timers, monotonicUs } = options
  const connection = createConnection({ address, credentials, randomness, onError })
  const failed = async (fault: string) => {
    await connection[Symbol.asyncDispose]()
    return { ok: false, fault } as const
  }
  const problem = await connectWithin(connection, timers)
  if (problem !== undefined) return failed(`cannot connect: ${problem}`)
  try {
    const disagreement = await disagreementOnShards(connection, shardCount, shardSecret)
    if (disagreement !== undefined) return failed(disagreement)
    const script = createRunScript({ connection, stateFormat, retryMs: deadlineMs, timers, monotonicUs })
    const witnesses = witnessing ? createWitnesses({ monotonicUs, ruleHash }) : undefined
    const run = observeRun(script, observer, monotonicUs)
    const lanes = (await runsKeysOfAnySlot(connection)) ? LANES_OF_ONE_SERVER : shardCount
    const store = createRedisStore({ shards: createShards(shardCount, lanes, shardSecret), run, witnesses, ...options })
    const limiters = createHighWater(monotonicUs)
    const id = randomUUID().replaceAll('-', '')
    const heartbeats = await startHeartbeats({ connection, timers, id, onCount: limiters.observe })
    const dispose = () => {
      heartbeats[Symbol.dispose]()
      return connection[Symbol.asyncDispose]()
    }
    const warnings = await memoryWarnings(connection)
    return {
      ok: true,
      store: { ...store, [Symbol.asyncDispose]: dispose },
      limiters: limiters.highest,
      witnessStats: witnesses?.stats,
      ledger: createLedger(connection),
      openAside: (asideMs) => {
        const aside = { connection, stateFormat, retryMs: asideMs, timers, monotonicUs }
        return createRedisStore({
          shards: createShards(shardCount, shardCount, shardSecret),
          run: createRunScript(aside),
          deadlineMs: asideMs,
          timers,
          monotonicUs,
          randomness,
        })
      },
      warnings,
    }
  } catch (error) {
    return failed(messageOf(error))
  }
}

const connectWithin = (connection: RedisConnection, timers: Timers) =>
  new Promise<string | undefined>((resolve) => {
    const cancel = timers.after(CONNECT_DEADLINE_MS, () => {
      const reason = connection.lastError()
      resolve(`no answer within ${CONNECT_DEADLINE_MS / 1000} s${reason === undefined ? '' : `: ${reason.message}`}`)
    })
    connection
      .connect()
      .then(
        () => resolve(undefined),
        (error: unknown) => resolve(messageOf(error)),
      )
      .finally(cancel)
  })

/** The first limiter writes how it spreads subjects; whoever comes later and would spread them otherwise is told. */
const disagreementOnShards = async (connection: RedisConnection, shardCount: number, secret: string | undefined) => {
  const own = `shards=${shardCount}${secret === undefined ? '' : ` secret=${secretFingerprint(secret)}`}`
  const read = () => connection.call('GET', SHARDS_KEY)
  try {
    // A Redis that is full takes no writes, not even one that would change nothing.
    if ((await read()) === null) await connection.call('SET', SHARDS_KEY, own, 'NX')
    const written = String(await read())
    return written === own ? undefined : disagreement(written, shardCount, secret)
  } catch (error) {
    if (messageOf(error).startsWith('WRONGTYPE')) return notOfLimiters('no string')
    throw error
  }
}

const disagreement = (written: string, shardCount: number, secret: string | undefined) => {
  const [, count, theirs] = /^shards=(\d+)(?: secret=(\w+))?$/.exec(written) ?? []
  if (count === undefined) return notOfLimiters(JSON.stringify(written.slice(0, 64)))
  if (count !== String(shardCount))
    return `LIMITER_SHARDS is ${shardCount}, but this Redis holds buckets of limiters with ${count}: set it to ${count}`
  const setting = 'LIMITER_SHARD_SECRET_FILE'
  if (theirs === undefined) return `${setting} is set, but this Redis holds buckets of limiters with none: unset it`
  return secret === undefined
    ? `${setting} is not set, but this Redis holds buckets of limiters with a secret, of fingerprint ${theirs}: set it to theirs`
    : `${setting} is set, but this Redis holds buckets of limiters with another, of fingerprint ${theirs} (this one's is ${secretFingerprint(secret)}): use theirs`
}

const notOfLimiters = (found: string) =>
  `the key ${SHARDS_KEY} in this Redis is ${found}, which no limiter has written: name a Redis that is the limiters' own, or delete the key and start all of them with the same settings`

/** A server that is no part of a cluster. One whose user may not ask is taken for a cluster's: that costs more calls and is never wrong. */
const runsKeysOfAnySlot = async (connection: RedisConnection) =>
  /^cluster_enabled:0/m.test(String(await connection.call('INFO', 'cluster').catch(() => '')))

/** With a bound on memory and another policy than volatile-ttl, Redis forgets drained buckets first, or takes no new ones. */
const memoryWarnings = async (connection: RedisConnection): Promise<readonly string[]> => {
  // A user may be denied INFO: then nobody knows.
  const info = String(await connection.call('INFO', 'memory').catch(() => ''))
  const policy = /^maxmemory_policy:(\S+)/m.exec(info)?.[1]
  if (policy === undefined || policy === 'volatile-ttl') return []
  return [
    `maxmemory-policy is ${policy}: set it to volatile-ttl, so that a Redis that is full forgets the fullest buckets first`,
  ]
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
