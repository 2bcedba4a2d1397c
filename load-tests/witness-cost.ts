// What do witnesses cost per check, in the limiter and in Redis?   node load-tests/witness-cost.ts
// Processes of their own with and without, in turn, each with a Redis of its own; CPU microseconds per take, the least of all rounds: what
// else the machine does only adds to it. Two minutes.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { type BucketKey, bucketRef, type GroupKey } from '../services/limiter/core/store.ts'
import { openOrThrow } from '../services/limiter/redis/open-store.fixture.ts'
import { redisCli, startRedis } from '../services/limiter/redis/redis-server.fixture.ts'

const PROCESSES = 5
const ROUNDS = 9
const TAKES = 40_000
const CONCURRENCY = 256
const KEYS = 1_000
/** Never empty, and full only after days: each bucket is remembered, none is refused. */
const RULE = { capacityTokens: 4_500_000, refillTokens: 2, periodS: 1 }

type Cost = { readonly limiterUs: number; readonly redisUs: number }

const measureAll = async (witnessing: boolean): Promise<readonly Cost[]> => {
  await using redis = await startRedis()
  const redisCpuUs = () => {
    const info = redisCli(redis.port, 'INFO', 'cpu')
    const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1])
    return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6
  }
  const buckets = Array.from({ length: KEYS }, (_, index) => [
    { ...bucketRef(`s:api:user%3a${index}` as GroupKey, 'per-client' as BucketKey), rule: RULE, enforced: true },
  ])
  await using store = await openOrThrow(`redis://127.0.0.1:${redis.port}`, { witnessing })

  const measure = async (): Promise<Cost> => {
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

  for (let warmUp = 0; warmUp < 2; warmUp += 1) await measure()
  const found: Cost[] = []
  for (let round = 0; round < ROUNDS; round += 1) found.push(await measure())
  return found
}

const [, , alternative] = process.argv
if (alternative !== undefined) process.stdout.write(JSON.stringify(await measureAll(alternative === 'on')))
else {
  const found: Record<'off' | 'on', Cost[]> = { off: [], on: [] }
  for (let turn = 0; turn < PROCESSES; turn += 1)
    for (const witnesses of ['off', 'on'] as const) {
      const { stdout } = spawnSync(process.execPath, [fileURLToPath(import.meta.url), witnesses], {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      found[witnesses].push(...(JSON.parse(stdout) as Cost[]))
    }
  const rows = Object.entries(found).map(([witnesses, costs]) => {
    const limiter = Math.min(...costs.map(({ limiterUs }) => limiterUs))
    const ofRedis = Math.min(...costs.map(({ redisUs }) => redisUs))
    return { witnesses, 'limiter µs': limiter, 'Redis µs': ofRedis, 'both µs': limiter + ofRedis }
  })
  console.table(rows)
}
