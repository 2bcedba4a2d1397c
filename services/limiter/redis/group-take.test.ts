import { expect, test } from 'vitest'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import { createCredits } from './credits.ts'
import { createGroupTakes } from './group-take.ts'
import type { Answered, Question } from './lane.ts'

const bucket = (key: string): AskedBucket => ({
  ...bucketRef('s:api:one' as GroupKey, key as BucketKey),
  rule: { capacityTokens: 10, refillTokens: 1, periodS: 60 },
  enforced: true,
})
const group = {
  placed: { shard: 0, lane: 0, key: 'weir:{0}:s:api:one' },
  buckets: [bucket('prepaid'), bucket('payable')],
} as const

const charged: Answered = {
  ok: true,
  value: { granted: true, replayed: false, readings: [{ bucket: { deficitNano: 1e9, atUs: 0 }, held: true }] },
}
const lost: Answered = { ok: false, late: Promise.resolve({ kind: 'not_run' }) }

test('a take that was charged while the look beside it was lost is told as charged, and its payment is credit if it was refused', async () => {
  for (const admitted of [true, false]) {
    const credits = createCredits(() => 0)
    credits.keep(group.buckets[0], 1, { deficitNano: 5e9, atUs: 0 })
    const ask = async (_: unknown, { cost }: Question) => (cost === 0 ? lost : charged)
    const outcome = await createGroupTakes({ ask }, credits).charge(group, { cost: 1 }, 1_000)
    if (outcome.ok) throw new Error('a lost look is no answer')
    expect(await outcome.settle(admitted)).toBe(true)
    expect(group.buckets.map((asked) => credits.has(asked, 1))).toEqual([!admitted, !admitted])
  }
})
