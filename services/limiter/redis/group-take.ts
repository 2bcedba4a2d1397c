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

/** For each bucket the credit that pays for it; nothing where none does. */
type Used = readonly (Credit | undefined)[]

/**
 * `used`: for `refund`. `settle`: to be told, once, whether the request was admitted without the group's word; resolves with whether it
 * was charged all the same.
 */
export type Charged =
  | { readonly ok: true; readonly value: Replayed; readonly used: Used }
  | { readonly ok: false; readonly settle: (admitted: boolean) => Promise<boolean> }

export type GroupTakes = {
  /** Charges the group's buckets, but those for which this limiter holds credit. */
  readonly charge: (group: GroupBuckets, payment: Payment, deadlineUs: number) => Promise<Charged>
  /** The request is refused elsewhere, so what the group paid for it is credit for its next takes. */
  readonly refund: (group: GroupBuckets, payment: Payment, charged: Extract<Charged, { ok: true }>) => void
  /** What the group holds; charges nothing. */
  readonly look: (group: GroupBuckets, payment: Payment, deadlineUs: number) => Promise<Answered>
}

/** Takes within one group, and the credit of those that paid for nothing. */
export const createGroupTakes = ({ ask }: Pick<Ask, 'ask'>, credits: Credits): GroupTakes => {
  /** Charges the buckets for which there is no credit, and looks at the others. */
  const chargeRest = async (
    { placed, buckets }: GroupBuckets,
    cost: number,
    used: Used,
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

  const useCredit = (buckets: readonly AskedBucket[], payment: Payment): Used => {
    if (credits.isEmpty() || !earnsCredit(payment)) return []
    const used = buckets.map((asked) => (asked.enforced ? credits.take(asked, payment.cost) : undefined))
    return used.some((credit) => credit !== undefined) ? used : []
  }

  /** `value`: what it was charged for nothing, if it was. */
  const keepAsCredit = (buckets: readonly AskedBucket[], payment: Payment, used: Used, value?: Replayed) => {
    for (const [index, asked] of buckets.entries()) {
      const credit = used[index]
      const paid = value?.granted === true ? value.readings[index] : undefined
      if (credit !== undefined) credits.putBack(asked, credit)
      // In shadow nothing is owed: what such a bucket paid for a refused request is a rehearsal's error, and small.
      else if (earnsCredit(payment) && asked.enforced && paid !== undefined)
        credits.keep(asked, payment.cost, paid.bucket)
    }
  }

  const settleLate = async (
    buckets: readonly AskedBucket[],
    payment: Payment,
    used: Used,
    coming: Promise<Late>,
    admitted: boolean,
  ) => {
    const late = await coming
    const isCharged = late.kind === 'ran' && late.value.granted
    if (!admitted || !isCharged) keepAsCredit(buckets, payment, used, late.kind === 'ran' ? late.value : undefined)
    return isCharged
  }

  return {
    // Not async: each take would wait for one more promise.
    charge: (group, payment, deadlineUs) => {
      const { placed, buckets } = group
      const { cost, requestId } = payment
      const used = useCredit(buckets, payment)
      const asked =
        used.length === 0
          ? ask(placed, { kind: 'take', buckets, cost, requestId }, deadlineUs)
          : chargeRest(group, cost, used, deadlineUs)
      return asked.then((answered): Charged => {
        if (!answered.ok) {
          const { late } = answered
          return { ok: false, settle: (admitted) => settleLate(buckets, payment, used, late, admitted) }
        }
        const { value } = answered
        if (!value.granted && used.length > 0) keepAsCredit(buckets, payment, used)
        return { ok: true, value, used }
      })
    },

    refund: ({ buckets }, payment, { used, value }) => keepAsCredit(buckets, payment, used, value),

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

/** A remembered grant is what its retry finds paid; credit beside it would pay twice. */
const earnsCredit = ({ cost, requestId }: Payment) => cost > 0 && requestId === undefined

const lateOf = async (answered: Answered): Promise<Late> =>
  answered.ok ? { kind: 'ran', value: answered.value } : answered.late
