import { expect, test } from 'vitest'
import { systemTimers } from '../../seams/timers.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import { createLane } from './lane.ts'

const bucket: AskedBucket = {
  ...bucketRef('s:api:one' as GroupKey, 'k' as BucketKey),
  rule: { capacityTokens: 100, refillTokens: 1, periodS: 60 },
  enforced: true,
}

const openLane = (run: Parameters<typeof createLane>[0]['run']) => {
  const monotonicUs = () => Math.floor(performance.now() * 1000)
  const lane = createLane({ run, timers: systemTimers, randomness: () => 0.5, monotonicUs, onChange: () => {} })
  const takeTogether = (count: number) =>
    Promise.all(
      Array.from({ length: count }, (_, index) =>
        lane.ask(`key-${index}`, { kind: 'take', buckets: [bucket], cost: 1 }, monotonicUs() + 5_000_000),
      ),
    )
  return { ...lane, takeTogether }
}

test('a lane is given up after five lost calls, not after the takes of one', async () => {
  const lane = openLane(() => Promise.reject(new Error('the connection is gone')))
  for (let call = 1; call <= 5; call += 1) {
    expect(lane.isAnswering()).toBe(true)
    const answers = await lane.takeTogether(20)
    expect(answers.some(({ ok }) => ok)).toBe(false)
  }
  expect(lane.isAnswering()).toBe(false)
})

test('a call that never ends gives its lane up as soon as its takes have waited', async () => {
  const { promise: never } = Promise.withResolvers<never>()
  const monotonicUs = () => Math.floor(performance.now() * 1000)
  const lane = createLane({
    run: () => never,
    timers: systemTimers,
    randomness: () => 0.5,
    monotonicUs,
    onChange: () => {},
  })
  const ask = () => lane.ask('key', { kind: 'take', buckets: [bucket], cost: 1 }, monotonicUs() + 500_000)
  const answers = await Promise.all(Array.from({ length: 5 }, ask))
  expect(answers.some(({ ok }) => ok)).toBe(false)
  expect(lane.isAnswering()).toBe(false)
})
