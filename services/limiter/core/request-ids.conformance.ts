import { describe, expect, test } from 'vitest'
import type { Rule } from '../../bucket/rule.ts'
import type { AskedBucket, Take } from './store.ts'
import { asked, drain, type OpenStore, randomGroup, TEN, THREE } from './store-under-test.fixture.ts'

/** Requests that are asked again under their id. */
export const describeRequestIds = (open: OpenStore) =>
  describe('requests under an id', () => {
    test('a request that was granted is granted again under its id, charged once, and marked', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', THREE)
      const ask = () => opened.store.take({ cost: 1, buckets: [bucket], requestId: 'r-1' })
      expect(await ask()).toMatchObject({ granted: true, replayed: false })
      for (let retry = 0; retry < 5; retry += 1) expect(await ask()).toMatchObject({ granted: true, replayed: true })
      expect(await drain(opened.store, bucket)).toBe(2)
      // Also when nothing is left for others.
      expect(await ask()).toMatchObject({ granted: true, replayed: true })
    })

    test('a request that was refused is judged anew under its id', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      await drain(opened.store, bucket)
      const ask = () => opened.store.take({ cost: 1, buckets: [bucket], requestId: 'r-1' })
      expect(await ask()).toMatchObject({ granted: false, replayed: false })
      opened.advanceUs(1_000_000)
      expect(await ask()).toMatchObject({ granted: true, replayed: false })
    })

    test('an id is remembered for two seconds, and for one subject', async () => {
      await using opened = await open()
      const [one, other] = [asked(randomGroup(), 'a', THREE), asked(randomGroup(), 'a', THREE)]
      const ask = (bucket: AskedBucket) => opened.store.take({ cost: 1, buckets: [bucket], requestId: 'r-1' })
      await ask(one)
      expect(await ask(other)).toMatchObject({ granted: true, replayed: false })
      opened.advanceUs(1_999_999)
      expect(await ask(one)).toMatchObject({ replayed: true })
      opened.advanceUs(1)
      expect(await ask(one)).toMatchObject({ granted: true, replayed: false })
    })

    test('an id stands for what was paid under it: a request of another cost or with another bucket pays', async () => {
      await using opened = await open()
      const group = randomGroup()
      const [one, other] = [asked(group, 'a', TEN), asked(group, 'b', TEN)]
      const ask = (cost: number, ...buckets: readonly AskedBucket[]) =>
        opened.store.take({ cost, buckets, requestId: 'r-1' })
      expect(await ask(1, one)).toMatchObject({ granted: true, replayed: false })
      expect(await ask(5, one)).toMatchObject({ granted: true, replayed: false })
      expect(await ask(1, other)).toMatchObject({ granted: true, replayed: false })
      expect(await ask(1, one, other)).toMatchObject({ granted: true, replayed: false })
      expect(await ask(1, one)).toMatchObject({ granted: true, replayed: true })
      expect([await drain(opened.store, one), await drain(opened.store, other)]).toEqual([3, 8])
    })

    test('a request over several groups is charged once in each under its id', async () => {
      await using opened = await open()
      const own = asked(randomGroup(), 'own', TEN)
      const shared = asked(randomGroup(), 'shared', THREE)
      for (let index = 0; index < 4; index += 1)
        expect(await opened.store.take({ cost: 1, buckets: [own, shared], requestId: 'r-1' })).toMatchObject({
          granted: true,
          replayed: index > 0,
        })
      expect(await drain(opened.store, shared)).toBe(2)
      // Refused by the one across subjects: the retry finds its own part paid, once.
      for (let index = 0; index < 4; index += 1)
        expect(await opened.store.take({ cost: 1, buckets: [own, shared], requestId: 'r-2' })).toMatchObject({
          granted: false,
        })
      const left = await drain(opened.store, own)
      expect(left === 9 || left === 8).toBe(true)
    })

    test('a bucket that is asked for is pushed out neither by emptier ones of its subject nor by remembered requests', async () => {
      await using opened = await open()
      // Full again within a second: sooner than whatever comes beside it.
      const fast: Rule = { capacityTokens: 200, refillTokens: 200, periodS: 1 }
      const grantedOf = async (takeOf: (own: AskedBucket, index: number) => Take) => {
        const own = asked(randomGroup(), 'own', fast)
        let granted = 0
        for (let index = 0; index < 300; index += 1) {
          const outcome = await opened.store.take(takeOf(own, index))
          if (outcome.kind === 'counted' && outcome.granted) granted += 1
        }
        return granted
      }
      const beside = (own: AskedBucket, index: number) => asked(own.group, `route-${index}`, THREE)
      expect(await grantedOf((own, index) => ({ cost: 1, buckets: [own, beside(own, index)] }))).toBe(200)
      expect(await grantedOf((own, index) => ({ cost: 1, buckets: [own], requestId: `r-${index}` }))).toBe(200)
    })
  })
