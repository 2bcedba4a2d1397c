import { randomUUID } from 'node:crypto'
import { connect, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { startRedis } from './redis-server.fixture.ts'

/** Forwards to Redis, and now and then swallows what Redis answers and cuts the connection: the script has run, and nobody knows. */
const openCuttingProxy = async (redisPort: number) => {
  const sockets = new Set<Socket>()
  let every = Number.POSITIVE_INFINITY
  let replies = 0
  let cuts = 0
  const server = createServer((client) => {
    const upstream = connect(redisPort, '127.0.0.1')
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.once('close', () => {
        client.destroy()
        upstream.destroy()
        sockets.delete(socket)
      })
    }
    client.pipe(upstream)
    upstream.on('data', (reply) => {
      replies += 1
      if (replies % every !== 0) return void client.write(reply)
      cuts += 1
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    cutEvery: (count: number) => {
      every = count
    },
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

test('10,000 requests that are retried under their ids, because replies get lost after the script has run, charge 10,000 tokens', async () => {
  await using redis = await startRedis()
  await using proxy = await openCuttingProxy(redis.port)
  await using store = await openOrThrow(`redis://127.0.0.1:${proxy.port}`, { deadlineMs: 500 })
  const run = randomUUID()
  // 100 subjects; nothing flows in during the test.
  const bucketOf = (subject: number): AskedBucket => ({
    ...bucketRef(`s:api:${run}-${subject}` as GroupKey, 'k' as BucketKey),
    rule: { capacityTokens: 1_000, refillTokens: 1, periodS: 2_592 },
    enforced: true,
  })
  proxy.cutEvery(25)
  let retries = 0
  let longestMs = 0
  const request = async (id: number) => {
    for (const startMs = performance.now(); ; ) {
      longestMs = Math.max(longestMs, performance.now() - startMs)
      const outcome = await store.take({ cost: 1, buckets: [bucketOf(id % 100)], requestId: `${run}-${id}` })
      if (outcome.kind === 'counted') return outcome.granted
      retries += 1
      // A lane that is given up answers at once; its probe needs the loop.
      await setImmediate()
    }
  }
  const ids = Array.from({ length: 10_000 }, (_, id) => id).values()
  const caller = async () => {
    let granted = 0
    for (const id of ids) if (await request(id)) granted += 1
    return granted
  }
  const granted = await Promise.all(Array.from({ length: 100 }, caller))
  expect(granted.reduce((sum, one) => sum + one, 0)).toBe(10_000)
  // The run tested what it says: replies were lost, and every retry came while the grant was remembered.
  expect(longestMs).toBeLessThan(2_000)
  expect(proxy.cuts()).toBeGreaterThan(5)
  expect(retries).toBeGreaterThan(100)

  proxy.cutEvery(Number.POSITIVE_INFINITY)
  expect(await chargedTokens(store, bucketOf)).toBe(10_000)
}, 60_000)

const chargedTokens = async (store: BucketStore, bucketOf: (subject: number) => AskedBucket) => {
  let missing = 0
  for (let subject = 0; subject < 100; subject += 1) {
    let outcome = await store.take({ cost: 0, buckets: [bucketOf(subject)] })
    while (outcome.kind === 'unavailable') {
      await setImmediate()
      outcome = await store.take({ cost: 0, buckets: [bucketOf(subject)] })
    }
    missing += Math.ceil((outcome.readings[0]?.bucket.deficitNano ?? 0) / 1e9)
  }
  return missing
}
