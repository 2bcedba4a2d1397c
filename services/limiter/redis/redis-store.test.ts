import { afterAll, beforeAll } from 'vitest'
import { describeStore } from '../core/store.conformance.ts'
import { openControlledStore } from './controlled-store.fixture.ts'
import { type RedisCluster, type RedisNode, startCluster, startRedis } from './redis-server.fixture.ts'

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

const single = () => `redis://127.0.0.1:${redis.port}`
describeStore('a single Redis', { open: () => openControlledStore(single()), propertyRuns: 300 })
describeStore('a single Redis written as the predecessor writes it', {
  open: () => openControlledStore(single(), [1]),
  propertyRuns: 300,
})
describeStore('a single Redis written in both formats in turn', {
  open: () => openControlledStore(single(), [1, 2]),
  propertyRuns: 300,
})
describeStore('a Redis Cluster', { open: () => openControlledStore(cluster.address), propertyRuns: 300 })
