// How many bytes of Redis does a subject cost, with one bucket and with more?   node load-tests/memory-per-bucket.ts [--json FILE]
// Starts a Redis of its own; prints a table, and on standard error how far it is. Two minutes.
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
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

export type BytesResult = {
  readonly format: StateFormat
  readonly buckets: string
  readonly bytesPerSubject: number
  /** Absent: it has only one. */
  readonly bytesPerFurtherBucket?: number
}

const { values: options } = parseArgs({ options: { json: { type: 'string' } } })
const results: BytesResult[] = []
let single = 0
for (const one of cases) {
  process.stderr.write(`${results.length + 1} of ${cases.length} …\n`)
  const bytesPerSubject = await measure(one)
  const { names, stateFormat: format } = one
  if (names.length === 1) single = bytesPerSubject
  const furtherBuckets = names.length - 1
  results.push({
    format,
    buckets: names.join(' '),
    bytesPerSubject,
    ...(furtherBuckets > 0 && { bytesPerFurtherBucket: (bytesPerSubject - single) / furtherBuckets }),
  })
}
console.table(
  results.map(({ format, buckets, bytesPerSubject, bytesPerFurtherBucket }) => ({
    format,
    buckets,
    'bytes a subject': Math.round(bytesPerSubject),
    'bytes a further bucket': bytesPerFurtherBucket === undefined ? '-' : Math.round(bytesPerFurtherBucket),
  })),
)
if (options.json !== undefined) await writeFile(options.json, JSON.stringify(results))
