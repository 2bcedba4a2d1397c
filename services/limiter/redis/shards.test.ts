import { expect, test } from 'vitest'
import type { BucketKey, GroupKey } from '../core/store.ts'
import { redisCli, startRedis } from './redis-server.fixture.ts'
import { boundedName, createShards, slotOf } from './shards.ts'

const group = (name: string) => name as GroupKey
const tagOf = (key: string) => /\{(.*?)\}/.exec(key)?.[1] ?? ''

test('shard i of n is in slot i·16384/n, by Redis’s own reckoning', async () => {
  await using redis = await startRedis('--cluster-enabled', 'yes')
  const shards = createShards(64)
  const keys = new Map<number, string>()
  for (let index = 0; keys.size < 64; index += 1) {
    const { shard, key } = shards.place(group(`s:api:user-${index}`))
    keys.set(shard, key)
  }
  for (const [shard, key] of keys) {
    expect(Number(redisCli(redis.port, 'CLUSTER', 'KEYSLOT', key))).toBe((shard * 16_384) / 64)
    expect(slotOf(tagOf(key))).toBe((shard * 16_384) / 64)
  }
})

test('any number of shards has as many different tags', () => {
  for (const count of [1, 3, 64, 100]) {
    const shards = createShards(count)
    const keys = Array.from({ length: 5_000 }, (_, index) => shards.place(group(`s:api:${index}`)).key)
    expect(new Set(keys.map(tagOf)).size).toBe(count)
  }
})

test('subjects that were chosen to share a shard spread over all of them by a secret that the chooser does not know', () => {
  const [known, keyed] = [createShards(64), createShards(64, 64, 'a secret of this test')]
  const chosen = Array.from({ length: 64_000 }, (_, index) => group(`s:api:user-${index}`)).filter(
    (one) => known.place(one).shard === 0,
  )
  const counts = new Map<number, number>()
  for (const one of chosen) counts.set(keyed.place(one).shard, (counts.get(keyed.place(one).shard) ?? 0) + 1)
  expect(chosen.length).toBeGreaterThan(750)
  expect(counts.size).toBe(64)
  expect(Math.max(...counts.values())).toBeLessThan((chosen.length / 64) * 3)
})

test.each([undefined, 'a secret'])(
  'with the secret %j subjects spread evenly: no shard has a quarter more than its part',
  (secret) => {
    const shards = createShards(64, 64, secret)
    const counts = new Array<number>(64).fill(0)
    for (let index = 0; index < 64_000; index += 1) {
      const { shard } = shards.place(group(`s:api:user%3a${index}`))
      counts[shard] = (counts[shard] ?? 0) + 1
    }
    expect(Math.max(...counts)).toBeLessThan(1_250)
    expect(Math.min(...counts)).toBeGreaterThan(750)
  },
)

test('all shards of one server share its lanes evenly, each always the same one', () => {
  const shards = createShards(64, 4)
  const laneOf = new Map<number, Set<number>>()
  for (let index = 0; index < 5_000; index += 1) {
    const { shard, lane } = shards.place(group(`s:api:${index}`))
    laneOf.set(lane, (laneOf.get(lane) ?? new Set()).add(shard))
  }
  expect([...laneOf.values()].map(({ size }) => size)).toEqual([16, 16, 16, 16])
  expect(new Set([...laneOf.values()].flatMap((all) => [...all])).size).toBe(64)
  expect(createShards(2, 4).lanes).toBe(2)
})

test('a long key is replaced by one of bounded length that stays in its shard and collides with no other', () => {
  const shards = createShards(64)
  const long = Array.from({ length: 1_000 }, (_, index) => shards.place(group(`s:api:${'x'.repeat(1_000)}${index}`)))
  expect(Math.max(...long.map(({ key }) => Buffer.byteLength(key)))).toBeLessThanOrEqual(256)
  expect(new Set(long.map(({ key }) => key)).size).toBe(1_000)
  expect(new Set(long.map(({ shard }) => shard)).size).toBeGreaterThan(50)
  const names = Array.from({ length: 100 }, (_, index) => boundedName(`p:${'é'.repeat(500)}${index}` as BucketKey))
  expect(new Set(names).size).toBe(100)
  expect(Math.max(...names.map((name) => Buffer.byteLength(name)))).toBeLessThanOrEqual(255)
})
