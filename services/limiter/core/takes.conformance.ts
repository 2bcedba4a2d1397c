import { describe, expect, test } from 'vitest'
import { asked, drain, type OpenStore, randomGroup, TEN, THREE, take } from './store-under-test.fixture.ts'

/** What is granted, and who pays. */
export const describeTakes = (open: OpenStore) =>
  describe('what is granted, and who pays', () => {
    test('an absent bucket is full: it grants its capacity and then refuses', async () => {
      await using opened = await open()
      expect(await drain(opened.store, asked(randomGroup(), 'a', TEN))).toBe(10)
    })

    test('when one enforced bucket refuses, none pays', async () => {
      await using opened = await open()
      const group = randomGroup()
      const [wide, narrow] = [asked(group, 'wide', TEN), asked(group, 'narrow', THREE)]
      expect(await drain(opened.store, wide, narrow)).toBe(3)
      for (let refusal = 0; refusal < 20; refusal += 1)
        expect((await take(opened.store, 1, wide, narrow)).granted).toBe(false)
      expect(await drain(opened.store, wide)).toBe(7)
    })

    test('when a bucket across subjects refuses, the subject does not pay', async () => {
      await using opened = await open()
      const own = asked(randomGroup(), 'own', TEN)
      const shared = asked(randomGroup(), 'shared', THREE)
      expect(await drain(opened.store, own, shared)).toBe(3)
      expect((await take(opened.store, 1, own, shared)).granted).toBe(false)
      expect(await drain(opened.store, own)).toBe(7)
    })

    test('a bucket in shadow refuses nobody, and pays only with the others and while it holds the cost', async () => {
      await using opened = await open()
      const group = randomGroup()
      const enforced = asked(group, 'enforced', TEN)
      const shadow = asked(group, 'shadow', THREE, false)
      const outcomes = []
      for (let index = 0; index < 12; index += 1) outcomes.push(await take(opened.store, 1, enforced, shadow))
      expect(outcomes.map(({ granted }) => granted)).toEqual([...Array(10).fill(true), false, false])
      expect(outcomes.map(({ readings }) => readings[1]?.held)).toEqual([
        ...Array(3).fill(true),
        ...Array(9).fill(false),
      ])
    })

    test('a bucket in shadow does not pay for a request that is refused', async () => {
      await using opened = await open()
      const group = randomGroup()
      const enforced = asked(group, 'enforced', THREE)
      const shadow = asked(group, 'shadow', TEN, false)
      for (let index = 0; index < 9; index += 1) await take(opened.store, 1, enforced, shadow)
      expect(await drain(opened.store, { ...shadow, enforced: true })).toBe(7)
    })

    test('a cost of 0 reads and charges nothing, and is granted even by an empty bucket', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', THREE)
      for (let index = 0; index < 5; index += 1) expect((await take(opened.store, 0, bucket)).granted).toBe(true)
      expect(await drain(opened.store, bucket)).toBe(3)
      expect((await take(opened.store, 0, bucket)).granted).toBe(true)
    })

    test('a cost of several tokens is granted whole or not at all', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      expect((await take(opened.store, 7, bucket)).granted).toBe(true)
      expect((await take(opened.store, 4, bucket)).granted).toBe(false)
      expect((await take(opened.store, 3, bucket)).granted).toBe(true)
    })

    test('the reading of a granted take is the bucket after it, of a refused one the bucket as it stands', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      const deficits = []
      for (const cost of [4, 4, 4])
        deficits.push((await take(opened.store, cost, bucket)).readings[0]?.bucket.deficitNano)
      expect(deficits).toEqual([4_000_000_000, 8_000_000_000, 8_000_000_000])
    })

    test('a reset fills the buckets that it names and no other', async () => {
      await using opened = await open()
      const group = randomGroup()
      const [one, other] = [asked(group, 'one', THREE), asked(group, 'other', THREE)]
      await drain(opened.store, one)
      await drain(opened.store, other)
      expect(await opened.store.reset([one])).toEqual({ kind: 'reset' })
      expect(await drain(opened.store, one)).toBe(3)
      expect(await drain(opened.store, other)).toBe(0)
    })

    test('requests that arrive together are granted exactly what is there', async () => {
      await using opened = await open()
      const bucket = asked(randomGroup(), 'a', TEN)
      const outcomes = await Promise.all(Array.from({ length: 100 }, () => take(opened.store, 1, bucket)))
      expect(outcomes.filter(({ granted }) => granted)).toHaveLength(10)
    })
  })
