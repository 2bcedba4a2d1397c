import { describe, expect, test } from 'vitest'
import { asked, drain, type OpenStore, randomGroup, TEN, take } from './store-under-test.fixture.ts'

/** Refill, and a clock that is set. */
export const describeClock = (open: OpenStore) =>
  describe('refill, and a clock that is set', () => {
    test('a bucket refills evenly, to the microsecond', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      await drain(opened.store, bucket)
      opened.advanceUs(999_999)
      expect((await take(opened.store, 1, bucket)).granted).toBe(false)
      opened.advanceUs(1)
      expect((await take(opened.store, 1, bucket)).granted).toBe(true)
      expect((await take(opened.store, 1, bucket)).granted).toBe(false)
    })

    test('a clock that jumps 10 s ahead gives 10 s of refill and no more; one set back 10 s costs a second at most', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', { capacityTokens: 100, refillTokens: 1, periodS: 1 })
      await drain(opened.store, bucket)
      opened.advanceUs(10_000_000)
      expect(await drain(opened.store, bucket)).toBe(10)
      opened.advanceUs(-10_000_000)
      expect(await drain(opened.store, bucket)).toBe(0)
      const granted: number[] = []
      for (let second = 0; second < 5; second += 1) {
        opened.advanceUs(1_000_000)
        granted.push(await drain(opened.store, bucket))
      }
      // A store that remembers its last refusal for a second learns of the clock when it asks again.
      expect([
        [1, 1, 1, 1, 1],
        [0, 1, 1, 1, 1],
      ]).toContainEqual(granted)
    })

    test('a clock set back a second holds the bucket still for that second', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      await drain(opened.store, bucket)
      opened.advanceUs(-1_000_000)
      expect(await drain(opened.store, bucket)).toBe(0)
      opened.advanceUs(1_000_000)
      expect(await drain(opened.store, bucket)).toBe(0)
      opened.advanceUs(2_000_000)
      expect(await drain(opened.store, bucket)).toBe(2)
    })
  })
