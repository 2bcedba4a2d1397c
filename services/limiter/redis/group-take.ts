import { holds } from '../../bucket/bucket.ts'
import type { AskedBucket, Reading, Take } from '../core/store.ts'
import type { Ask } from './ask.ts'
import type { Credit, Credits } from './credits.ts'
import type { Answered, Late } from './lane.ts'
import { type Replayed, unseen } from './replay.ts'
import type { Placed } from './shards.ts'

/** The buckets of one group that a take asks, and where they are. */
export type GroupBuckets = { readonly placed: Placed; readonly buckets: readonly AskedBucket[] }

/** What a take asks of each group. */
export type Payment = Pick<Take, 'cost' | 'requestId'>

/**
 * `refund`: the request is refused elsewhere, so what the group paid for it is credit for its next takes.
 * `settle`: to be told, once, whether the request was admitted without the group's word; resolves with whether it was charged all the same.
 */
export type Charged =
  | { readonly ok: true; readonly value: Replayed; readonly refund: () => void }
  | { readonly ok: false; readonly settle: (admitted: boolean) => Promise<boolean> }

export type GroupTakes = {
  /** Charges the group's buckets, but those for which this limiter holds credit. */
  readonly charge: (group: GroupBuckets, payment: Payment, deadlineUs: number) => Promise<Charged>
  /** What the group holds; charges nothing. */
  readonly look: (group: GroupBuckets, payment: Payment, deadlineUs: number) => Promise<Answered>
}

/** Takes within one group, and the credit of those that paid for nothing. */
export const createGroupTakes = ({ ask }: Pick<Ask, 'ask'>, credits: Credits): GroupTakes => {
  /** Charges the buckets for which there is no credit, and looks at the others. */
  const chargeRest = async (
    { placed, buckets }: GroupBuckets,
    cost: number,
    used: readonly (Credit | undefined)[],
    deadlineUs: number,
  ): Promise<Answered> => {
    const isPrepaid = (_: AskedBucket, index: number) => used[index] !== undefined
    // Both leave in one call of the script, but where that is full between them.
    const [seen, charged] = await Promise.all([
      ask(placed, { kind: 'take', buckets: buckets.filter(isPrepaid), cost: 0 }, deadlineUs),
      ask(
        placed,
        { kind: 'take', buckets: buckets.filter((asked, index) => !isPrepaid(asked, index)), cost },
        deadlineUs,
      ),
    ])
    const merge = (prepaid: Replayed, payable: Replayed): Replayed => {
      const [ofPrepaid, ofPayable] = [prepaid.readings.values(), payable.readings.values()]
      const readings = used.flatMap((credit) => [...(credit === undefined ? ofPayable : ofPrepaid).take(1)])
      return { granted: payable.granted, replayed: false, readings }
    }
    if (seen.ok && charged.ok) return { ok: true, value: merge(seen.value, charged.value) }
    // What was paid counts, whether or not the look beside it came through: a bucket that nobody looked at is taken for full.
    const late = async (): Promise<Late> => {
      const [lateSeen, lateCharged] = [await lateOf(seen), await lateOf(charged)]
      if (lateCharged.kind !== 'ran') return lateCharged
      const prepaid = lateSeen.kind === 'ran' ? lateSeen.value : unseen(buckets.filter(isPrepaid))
      return { kind: 'ran', value: merge(prepaid, lateCharged.value) }
    }
    return { ok: false, late: late() }
  }

  return {
    charge: async (group, { cost, requestId }, deadlineUs) => {
      const { placed, buckets } = group
      // A remembered grant is what its retry finds paid; credit beside it would pay twice.
      const earnsCredit = cost > 0 && requestId === undefined
      const used = buckets.map((asked) => (earnsCredit && asked.enforced ? credits.take(asked, cost) : undefined))
      const answered = used.every((credit) => credit === undefined)
        ? await ask(placed, { kind: 'take', buckets, cost, requestId }, deadlineUs)
        : await chargeRest(group, cost, used, deadlineUs)
      const keepAsCredit = (value: Replayed | undefined) => {
        for (const [index, asked] of buckets.entries()) {
          const credit = used[index]
          const paid = value?.granted === true ? value.readings[index] : undefined
          if (credit !== undefined) credits.putBack(asked, credit)
          // In shadow nothing is owed: what such a bucket paid for a refused request is a rehearsal's error, and small.
          else if (earnsCredit && asked.enforced && paid !== undefined) credits.keep(asked, cost, paid.bucket)
        }
      }
      if (!answered.ok)
        return {
          ok: false,
          settle: async (admitted) => {
            const late = await answered.late
            const isCharged = late.kind === 'ran' && late.value.granted
            if (!admitted || !isCharged) keepAsCredit(late.kind === 'ran' ? late.value : undefined)
            return isCharged
          },
        }
      const { value } = answered
      if (!value.granted) keepAsCredit(undefined)
      return { ok: true, value, refund: () => keepAsCredit(value) }
    },

    look: async ({ placed, buckets }, { cost }, deadlineUs) => {
      const seen = await ask(placed, { kind: 'take', buckets, cost: 0 }, deadlineUs)
      if (!seen.ok) return seen
      const readings = buckets.flatMap(({ rule }, index): readonly Reading[] => {
        const bucket = seen.value.readings[index]?.bucket
        return bucket === undefined ? [] : [{ bucket, held: holds(bucket, rule, cost) }]
      })
      return { ok: true, value: { granted: false, replayed: false, readings } }
    },
  }
}

const lateOf = async (answered: Answered): Promise<Late> =>
  answered.ok ? { kind: 'ran', value: answered.value } : answered.late
