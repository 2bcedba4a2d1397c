// How many bytes of Redis does a subject cost, with one bucket and with more?   node load-tests/memory-per-bucket.ts
// Starts a Redis of its own; prints a table, and on standard error how far it is.
import type { BucketKey, GroupKey } from '../services/limiter/core/store.ts'
import { openOrThrow } from '../services/limiter/redis/open-store.fixture.ts'
import { redisCli, startRedis } from '../services/limiter/redis/redis-server.fixture.ts'

const SUBJECTS = 100_000
const RULE = { capacityTokens: 60, refillTokens: 1, periodS: 3_600 }

const measure = async (bucketsPerSubject: number) => {
  await using redis = await startRedis('--maxmemory-policy', 'volatile-ttl')
  await using store = await openOrThrow(`redis://127.0.0.1:${redis.port}`, { deadlineMs: 10_000 })
  const usedBytes = () => Number(/^used_memory:(\d+)/m.exec(redisCli(redis.port, 'INFO', 'memory'))?.[1])
  const before = usedBytes()
  for (let start = 0; start < SUBJECTS; start += 1_000) {
    process.stderr.write(`\r${bucketsPerSubject} per subject: ${start} of ${SUBJECTS} `)
    const takes = Array.from({ length: 1_000 }, (_, index) => {
      const group = `s:api:user%3a${String(start + index).padStart(8, '0')}` as GroupKey
      const buckets = Array.from({ length: bucketsPerSubject }, (_, policy) => ({
        group,
        key: `per-client-${policy}` as BucketKey,
        rule: RULE,
        enforced: true,
      }))
      return store.take({ cost: 1, buckets })
    })
    const outcomes = await Promise.all(takes)
    if (outcomes.some(({ kind }) => kind !== 'counted')) throw new Error('the store was away')
  }
  process.stderr.write('\n')
  return { total: (usedBytes() - before) / SUBJECTS }
}

const counts = [1, 2, 3, 5]
const rows: ({ readonly buckets: number } & Awaited<ReturnType<typeof measure>>)[] = []
for (const count of counts) rows.push({ buckets: count, ...(await measure(count)) })
console.table(
  rows.map(({ buckets, total }, index) => ({
    'buckets a subject': buckets,
    'bytes a subject': Math.round(total),
    'bytes a further bucket': index === 0 ? '-' : Math.round((total - (rows[0]?.total ?? 0)) / (buckets - 1)),
  })),
)
