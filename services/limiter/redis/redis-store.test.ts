import { afterAll, beforeAll } from 'vitest'
import { systemTimers } from '../../seams/timers.ts'
import { describeStore } from '../core/store.conformance.ts'
import { createConnection } from './connect.ts'
import { type RedisCluster, type RedisNode, startCluster, startRedis } from './redis-server.fixture.ts'
import { createRedisStore } from './redis-store.ts'
import { createRunScript } from './run-script.ts'
import { createShards } from './shards.ts'
import { parseRedisAddress } from './store-address.ts'

const patience = { retryMs: 2_000, timers: systemTimers, monotonicUs: () => Math.floor(performance.now() * 1000) }
const seams = { timers: systemTimers, randomness: Math.random }

const noCredentials = { password: undefined, ca: undefined, cert: undefined, key: undefined }
const shards = createShards(64)

/** The store over a real Redis whose script goes by the test's clock. */
const openStore = async (addressText: string) => {
  const address = parseRedisAddress(addressText)
  if (address === undefined) throw new Error(`no address: ${addressText}`)
  const connection = createConnection({
    address,
    credentials: noCredentials,
    randomness: Math.random,
    onError: () => {},
  })
  await connection.connect()
  let nowUs = Date.now() * 1000
  const run = createRunScript({ connection, ...patience, nowUs: () => nowUs })
  return {
    store: createRedisStore({ shards, run, deadlineMs: 2_000, ...seams, monotonicUs: () => nowUs }),
    nowUs: () => nowUs,
    advanceUs: (us: number) => {
      nowUs += us
    },
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}

let redis: RedisNode
let cluster: RedisCluster
beforeAll(async () => {
  redis = await startRedis()
  cluster = await startCluster({ primaries: 3, replicas: 1 })
})
afterAll(async () => {
  await redis?.[Symbol.asyncDispose]()
  await cluster?.[Symbol.asyncDispose]()
})

describeStore('a single Redis', { open: () => openStore(`redis://127.0.0.1:${redis.port}`), propertyRuns: 300 })
describeStore('a Redis Cluster', { open: () => openStore(cluster.address), propertyRuns: 300 })
