// What do witnesses cost per check, in the limiter and in Redis?   node load-tests/witness-cost.ts
// Two stores on one Redis, with and without, in turn; CPU microseconds per take, medians. Half a minute.
import { type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../services/limiter/core/store.ts'
import { openOrThrow } from '../services/limiter/redis/open-store.fixture.ts'
import { redisCli, startRedis } from '../services/limiter/redis/redis-server.fixture.ts'

const ROUNDS = 9
const TAKES = 40_000
const CONCURRENCY = 256
const KEYS = 1_000
/** Never empty, and full only after days: each bucket is remembered, none is refused. */
const RULE = { capacityTokens: 4_500_000, refillTokens: 2, periodS: 1 }

await using redis = await startRedis()
const redisCpuUs = () => {
  const info = redisCli(redis.port, 'INFO', 'cpu')
  const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6
}

const buckets = Array.from({ length: KEYS }, (_, index) => [
  { ...bucketRef(`s:api:user%3a${index}` as GroupKey, 'per-client' as BucketKey), rule: RULE, enforced: true },
])

const measure = async (store: BucketStore) => {
  const [startCpu, startRedisUs] = [process.cpuUsage(), redisCpuUs()]
  let sent = 0
  const caller = async () => {
    for (; sent < TAKES; sent += 1) {
      const outcome = await store.take({ cost: 1, buckets: buckets[(sent * 7) % KEYS] ?? [] })
      if (outcome.kind !== 'counted' || !outcome.granted) throw new Error('not granted')
    }
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, caller))
  const { user, system } = process.cpuUsage(startCpu)
  return { limiterUs: (user + system) / sent, redisUs: (redisCpuUs() - startRedisUs) / sent }
}

const address = `redis://127.0.0.1:${redis.port}`
await using off = await openOrThrow(address, { witnessing: false })
await using on = await openOrThrow(address, { witnessing: true })
for (const store of [off, on]) await measure(store)
const found = { off: [] as Awaited<ReturnType<typeof measure>>[], on: [] as Awaited<ReturnType<typeof measure>>[] }
for (let round = 0; round < ROUNDS; round += 1) {
  found.off.push(await measure(off))
  found.on.push(await measure(on))
}
const median = (numbers: readonly number[]) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
const rows = Object.entries(found).map(([witnesses, measured]) => {
  const limiter = median(measured.map(({ limiterUs }) => limiterUs))
  const ofRedis = median(measured.map(({ redisUs }) => redisUs))
  return { witnesses, 'limiter µs': limiter, 'Redis µs': ofRedis, 'both µs': limiter + ofRedis }
})
console.table(rows)
