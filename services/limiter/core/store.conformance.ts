/** What every store must do. A store's test calls this with a way to open it; see `memory-store.test.ts`. */
import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyRule } from '../../bucket/rule.arbitrary.ts'
import type { Rule } from '../../bucket/rule.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey, type Take } from './store.ts'
import { createTakeOracle } from './take.oracle.ts'

/** A store whose clock the test moves: nothing in here races real time. */
export type StoreUnderTest = AsyncDisposable & {
  readonly store: BucketStore
  readonly nowUs: () => number
  readonly advanceUs: (us: number) => void
}

type Options = { readonly open: () => Promise<StoreUnderTest>; readonly propertyRuns: number }

const TEN: Rule = { capacityTokens: 10, refillTokens: 1, periodS: 1 }
const THREE: Rule = { capacityTokens: 3, refillTokens: 1, periodS: 60 }

// Names are random, so tests share a store without a flush.
const randomGroup = () => `s:${randomUUID()}` as GroupKey
const asked = (group: GroupKey, key: string, rule: Rule, enforced = true): AskedBucket => ({
  ...bucketRef(group, key as BucketKey),
  rule,
  enforced,
})

const take = async (store: BucketStore, cost: number, ...buckets: readonly AskedBucket[]) => {
  const outcome = await store.take({ cost, buckets })
  if (outcome.kind !== 'counted') throw new Error('the store is away')
  return outcome
}

/** How many takes of 1 the buckets still grant. */
const drain = async (store: BucketStore, ...buckets: readonly AskedBucket[]) => {
  for (let granted = 0; ; granted += 1) if (!(await take(store, 1, ...buckets)).granted) return granted
}

export const describeStore = (name: string, { open, propertyRuns }: Options) =>
  describe(`${name} as a bucket store`, () => {
    test('an absent bucket is full: it grants its capacity and then refuses', async () => {
      await using opened = await open()
      expect(await drain(opened.store, asked(randomGroup(), 'a', TEN))).toBe(10)
    })

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

    test('any sequence of takes over any buckets is what exact rational arithmetic allows', async () => {
      await using opened = await open()
      await fc.assert(
        fc.asyncProperty(anyTakes, async (steps) => {
          const oracle = createTakeOracle()
          const run = randomUUID()
          for (const { elapsedUs, take: template } of steps) {
            opened.advanceUs(elapsedUs)
            const buckets = template.buckets.map((one) => ({ ...one, group: `${one.group}:${run}` as GroupKey }))
            const { granted, readings } = await take(opened.store, template.cost, ...buckets)
            const held = readings.map((reading) => reading.held)
            expect(oracle.agrees({ ...template, buckets }, opened.nowUs(), granted, held)).toBe(true)
          }
        }),
        { numRuns: propertyRuns },
      )
    })
  })

type Step = { readonly elapsedUs: number; readonly take: Take }

/** Rules that run empty within a few takes, and rules from the far corners. */
const anyConformanceRule = fc.oneof(
  fc.record({
    capacityTokens: fc.integer({ min: 1, max: 8 }),
    refillTokens: fc.integer({ min: 1, max: 9 }),
    periodS: fc.integer({ min: 1, max: 60 }),
  }),
  anyRule,
)

/** A few buckets in a group, each with a rule of its own, and takes over any of them. */
const anyTakesOf = (group: string) =>
  fc
    .array(fc.tuple(anyConformanceRule, fc.boolean()), { minLength: 1, maxLength: 3 })
    .map((drafts) => drafts.map(([rule, enforced], index) => asked(group as GroupKey, `b${index}`, rule, enforced)))
    .chain((buckets) =>
      fc.array(fc.tuple(fc.subarray(buckets, { minLength: 1 }), anyElapsedUs, fc.integer({ min: 0, max: 4 })), {
        maxLength: 30,
      }),
    )

/** Takes over two groups in turn; each take stays within one, where all-or-nothing is exact in every store. */
const anyTakes: fc.Arbitrary<readonly Step[]> = fc
  .tuple(anyTakesOf('s:x'), anyTakesOf('p:y'))
  .map(([own, other]) => own.flatMap((step, index) => [step, ...other.slice(index, index + 1)]))
  .map((steps) =>
    steps.map(([buckets, elapsedUs, cost]): Step => {
      const capacities = buckets.filter(({ enforced }) => enforced).map(({ rule }) => rule.capacityTokens)
      return { elapsedUs, take: { cost: Math.min(cost, ...capacities), buckets } }
    }),
  )

const anyElapsedUs = fc.oneof(
  fc.constant(0),
  fc.integer({ min: 0, max: 3_000_000 }),
  fc.integer({ min: 0, max: 1_000_000_000 }),
)
