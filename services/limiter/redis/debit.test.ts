import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRule } from '../../bucket/rule.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import { openOrThrow } from './open-store.fixture.ts'
import { type RedisNode, startRedis } from './redis-server.fixture.ts'

let redis: RedisNode
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.[Symbol.asyncDispose]())

const open = () => openOrThrow(`redis://127.0.0.1:${redis.port}`)

/** Ten tokens, and one an hour: nothing comes back during a test. */
const tenTokens = (): AskedBucket => {
  const made = makeRule(10, 1, 3600)
  if (!made.ok) throw new Error('no rule')
  return { ...bucketRef(`api ${randomUUID()}` as GroupKey, 'k' as BucketKey), rule: made.rule, enforced: true }
}

const tokensLeft = async (store: Awaited<ReturnType<typeof open>>, asked: AskedBucket) => {
  const outcome = await store.take({ cost: 0, buckets: [asked] })
  return outcome.kind === 'counted'
    ? 10 - Math.ceil((outcome.readings[0]?.bucket.deficitNano ?? 0) / 1e9 - 0.01)
    : 'unavailable'
}

test('a debit is charged whatever the bucket holds, and leaves it empty at worst', async () => {
  await using store = await open()
  const asked = tenTokens()
  expect(await store.debit({ asked, nano: 3.5e9, id: 'a' })).toMatchObject({ kind: 'charged' })
  expect(await tokensLeft(store, asked)).toBe(6)
  expect(await store.debit({ asked, nano: 20e9, id: 'b' })).toMatchObject({ kind: 'charged' })
  expect(await tokensLeft(store, asked)).toBe(0)
})

test('a debit that is sent twice under one id is charged once', async () => {
  await using store = await open()
  const asked = tenTokens()
  await store.debit({ asked, nano: 4e9, id: 'same' })
  expect(await store.debit({ asked, nano: 4e9, id: 'same' })).toMatchObject({ kind: 'charged' })
  expect(await tokensLeft(store, asked)).toBe(6)
})

test('a debit goes before a take that is asked for in the same tick', async () => {
  await using store = await open()
  const asked = tenTokens()
  const [, outcome] = await Promise.all([
    store.debit({ asked, nano: 10e9, id: 'first' }),
    store.take({ cost: 1, buckets: [asked] }),
  ])
  expect(outcome).toMatchObject({ kind: 'counted', granted: false })
})
