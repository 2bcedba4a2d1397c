import { randomUUID } from 'node:crypto'
import { expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../limiter/core/store.ts'
import { createConnection } from '../limiter/redis/connect.ts'
import { createLedger } from '../limiter/redis/ledger.ts'
import { nonAtomic } from '../limiter/redis/non-atomic.fixture.ts'
import { observeRun, silentStoreObserver } from '../limiter/redis/observe-run.ts'
import { noCredentials } from '../limiter/redis/open-store.fixture.ts'
import { startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { createRedisStore } from '../limiter/redis/redis-store.ts'
import { createRunScript } from '../limiter/redis/run-script.ts'
import { createShards } from '../limiter/redis/shards.ts'
import { parseRedisAddress } from '../limiter/redis/store-address.ts'
import { startCanary } from '../limiter/telemetry/canary.ts'
import { publishConservation } from '../limiter/telemetry/conservation-metrics.ts'
import { openAdminServer } from '../platform/admin-server.ts'
import { createMetrics } from '../platform/metrics.ts'
import { until } from '../platform/service.fixture.ts'
import { systemMonotonicClock, systemWallClock } from '../seams/clock.ts'
import { systemTimers } from '../seams/timers.ts'
import { startPrometheus } from './prometheus.fixture.ts'

const bucket: AskedBucket = {
  ...bucketRef(`s:api:${randomUUID()}` as GroupKey, 'policy' as BucketKey),
  rule: { capacityTokens: 1_000_000, refillTokens: 1, periodS: 3_600 },
  enforced: true,
}

/** A limiter's store with its checks and metrics, on a script that reads in one step and writes in another if it is planted. */
const openLimiter = async (redisPort: number, planted: boolean) => {
  await using stack = new AsyncDisposableStack()
  const address = parseRedisAddress(`redis://127.0.0.1:${redisPort}`)
  if (address === undefined) throw new Error('no address')
  const { monotonicUs } = systemMonotonicClock
  const seams = { timers: systemTimers, monotonicUs, randomness: Math.random }
  const connection = stack.use(
    createConnection({ address, credentials: noCredentials, randomness: Math.random, onError: () => {} }),
  )
  await connection.connect()
  const metrics = createMetrics()
  const { violated, canary } = publishConservation(metrics)
  const through = planted ? nonAtomic(connection) : connection
  const script = createRunScript({ connection: through, stateFormat: 1, retryMs: 5_000, ...seams })
  const run = observeRun(script, { ...silentStoreObserver, violated }, monotonicUs)
  const store = createRedisStore({ shards: createShards(64), run, deadlineMs: 5_000, ...seams })
  stack.use(
    startCanary({
      store,
      addToLedger: createLedger(connection).add,
      clock: systemWallClock,
      timers: systemTimers,
      observe: canary,
      roundMs: ROUND_MS,
    }),
  )
  const admin = await openAdminServer({
    setting: 'ADMIN',
    address: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    routes: { '/metrics': metrics.page },
  })
  if (!admin.ok) throw new Error(admin.fault)
  stack.use(admin.server)
  const stopped = new AbortController()
  const traffic = (async () => {
    while (!stopped.signal.aborted) {
      await store.take({ cost: 1 + Math.floor(Math.random() * 3), buckets: [bucket] })
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  })()
  stack.defer(async () => {
    stopped.abort()
    await traffic
  })
  const kept = stack.move()
  return { port: admin.server.port, metrics, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
}

/** Long enough to drain a bucket on a busy machine. */
const ROUND_MS = 20_000
const WRONG_COUNTS = ['WeirRepliesDoNotConserve', 'WeirCanaryOverdrawn']

const firing = async (planted: boolean, isDone: (alerts: readonly string[], page: string) => boolean) => {
  await using redis = await startRedis()
  await using first = await openLimiter(redis.port, planted)
  await using second = await openLimiter(redis.port, planted)
  await using prometheus = await startPrometheus({ jobs: { limiter: [first.port, second.port] } })
  const current = async () =>
    (await prometheus.alerts()).filter(({ state }) => state === 'firing').map(({ name }) => name)
  await until(async () => isDone(await current(), (await first.metrics.page()).body), 200_000)
  return new Set((await current()).filter((name) => WRONG_COUNTS.includes(name)))
}

test('a script that is not atomic makes both alerts about wrong counts fire', async () => {
  const done = (alerts: readonly string[]) => WRONG_COUNTS.every((name) => alerts.includes(name))
  expect(await firing(true, done)).toEqual(new Set(WRONG_COUNTS))
}, 300_000)

test('the script as it is makes neither fire', async () => {
  const done = (_: readonly string[], page: string) => /^weir_canary_rounds_total [2-9]/m.test(page)
  expect(await firing(false, done)).toEqual(new Set())
}, 300_000)
