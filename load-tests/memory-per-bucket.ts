// How many bytes of Redis does a subject cost, with one bucket and with more?   node load-tests/memory-per-bucket.ts
// Starts a Redis of its own; prints a table, and on standard error how far it is. Two minutes.
import { type BucketKey, bucketRef, type GroupKey } from '../services/limiter/core/store.ts'
import { openOrThrow } from '../services/limiter/redis/open-store.fixture.ts'
import { redisCli, startRedis } from '../services/limiter/redis/redis-server.fixture.ts'
import type { StateFormat } from '../services/limiter/redis/take-script.ts'

const SUBJECTS = 50_000
const RULE = { capacityTokens: 60, refillTokens: 1, periodS: 3_600 }

type Case = { readonly names: readonly string[]; readonly takes: number; readonly stateFormat: StateFormat }

/** Bytes a subject, of 50,000 that each took so often, at different times, from so many buckets. */
const measure = async ({ names, takes, stateFormat }: Case) => {
  await using redis = await startRedis('--maxmemory-policy', 'volatile-ttl')
  await using store = await openOrThrow(`redis://127.0.0.1:${redis.port}`, { deadlineMs: 10_000, stateFormat })
  const usedBytes = () => Number(/^used_memory:(\d+)/m.exec(redisCli(redis.port, 'INFO', 'memory'))?.[1])
  const before = usedBytes()
  const take = async (subject: number) => {
    const group = `s:api:user%3a${String(subject).padStart(8, '0')}` as GroupKey
    const buckets = names.map((name) => ({ ...bucketRef(group, name as BucketKey), rule: RULE, enforced: true }))
    const { kind } = await store.take({ cost: 1, buckets })
    if (kind !== 'counted') throw new Error('the store was away')
  }
  for (let round = 0; round < takes; round += 1)
    for (let start = 0; start < SUBJECTS; start += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, index) => take(start + index)))
  return (usedBytes() - before) / SUBJECTS
}

const cases: readonly Case[] = ([1, 2] as const).flatMap((stateFormat): readonly Case[] => [
  { names: ['per-client'], takes: 3, stateFormat },
  { names: ['per-client', 'writes'], takes: 3, stateFormat },
  { names: ['per-client', 'writes', 'reads'], takes: 3, stateFormat },
  { names: ['per-client', 'writes', 'reads', 'exports', 'imports'], takes: 3, stateFormat },
  { names: ['a-long-name-of-a-policy'], takes: 3, stateFormat },
])
const rows: Record<string, string | number>[] = []
let single = 0
for (const one of cases) {
  process.stderr.write(`${rows.length + 1} of ${cases.length} …\n`)
  const bytes = await measure(one)
  if (one.names.length === 1) single = bytes
  rows.push({
    format: one.stateFormat,
    buckets: one.names.join(' '),
    'bytes a subject': Math.round(bytes),
    'bytes a further bucket': one.names.length === 1 ? '-' : Math.round((bytes - single) / (one.names.length - 1)),
  })
}
console.table(rows)
