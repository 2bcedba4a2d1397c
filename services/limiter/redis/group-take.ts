import { holds } from '../../bucket/bucket.ts'
import type { AskedBucket, GroupKey, Reading } from '../core/store.ts'
import type { Answered, Ask } from './ask.ts'
import type { Credit, Credits } from './credits.ts'
import type { Replayed } from './replay.ts'

/** One group's part of a take. */
export type GroupTake = {
  readonly group: GroupKey
  readonly buckets: readonly AskedBucket[]
  readonly cost: number
  readonly requestId: string | undefined
}

export type GroupTakes = {
  /** Charges the group's buckets, but those for which this limiter holds credit. */
  readonly charge: (take: GroupTake, deadlineUs: number) => Promise<Answered>
  /** What the group holds; charges nothing. */
  readonly look: (take: GroupTake, deadlineUs: number) => Promise<Answered>
  /** The group was charged for a request that is refused elsewhere: its next takes need not pay. */
  readonly keepAsCredit: (take: GroupTake, charged: Replayed) => void
}

/** Takes within one group, and the credit of those that paid for nothing. */
export const createGroupTakes = (ask: Ask, credits: Credits): GroupTakes => {
  // A remembered grant is what its retry finds paid; credit beside it would pay twice.
  const earnsCredit = ({ cost, requestId }: GroupTake) => cost > 0 && requestId === undefined

  const putBack = (buckets: readonly AskedBucket[], used: readonly (Credit | undefined)[]) => {
    for (const [index, asked] of buckets.entries()) {
      const credit = used[index]
      if (credit !== undefined) credits.putBack(asked, credit)
    }
  }

  return {
    charge: async (take, deadlineUs) => {
      const { group, buckets, cost, requestId } = take
      const used = buckets.map((asked) => (asked.enforced && earnsCredit(take) ? credits.take(asked, cost) : undefined))
      if (used.every((credit) => credit === undefined))
        return ask(group, { kind: 'take', buckets, cost, requestId }, deadlineUs)
      const isPrepaid = (_: AskedBucket, index: number) => used[index] !== undefined
      // Both leave in one call of the script.
      const [seen, charged] = await Promise.all([
        ask(group, { kind: 'take', buckets: buckets.filter(isPrepaid), cost: 0 }, deadlineUs),
        ask(
          group,
          { kind: 'take', buckets: buckets.filter((asked, index) => !isPrepaid(asked, index)), cost },
          deadlineUs,
        ),
      ])
      const granted = seen.ok && charged.ok && charged.value.granted
      if (!granted) putBack(buckets, used)
      if (!seen.ok || !charged.ok) return { ok: false }
      const [ofPrepaid, ofPayable] = [seen.value.readings.values(), charged.value.readings.values()]
      const readings = used.flatMap((credit) => [...(credit === undefined ? ofPayable : ofPrepaid).take(1)])
      return { ok: true, value: { granted, replayed: false, readings } }
    },

    look: async ({ group, buckets, cost }, deadlineUs) => {
      const seen = await ask(group, { kind: 'take', buckets, cost: 0 }, deadlineUs)
      if (!seen.ok) return seen
      const readings = buckets.flatMap(({ rule }, index): readonly Reading[] => {
        const bucket = seen.value.readings[index]?.bucket
        return bucket === undefined ? [] : [{ bucket, held: holds(bucket, rule, cost) }]
      })
      return { ok: true, value: { granted: false, replayed: false, readings } }
    },

    keepAsCredit: (take, { readings }) => {
      if (!earnsCredit(take)) return
      for (const [index, asked] of take.buckets.entries()) {
        const reading = readings[index]
        // In shadow nothing is owed: what such a bucket paid for a refused request is a rehearsal's error, and small.
        if (asked.enforced && reading !== undefined) credits.keep(asked, take.cost, reading.bucket)
      }
    },
  }
}
