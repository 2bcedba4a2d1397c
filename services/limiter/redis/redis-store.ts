import { holds } from '../../bucket/bucket.ts'
import type { Timers } from '../../seams/timers.ts'
import type { AskedBucket, BucketStore, GroupKey, Reading } from '../core/store.ts'
import { type Credit, createCredits } from './credits.ts'
import { type Replayed, replay } from './replay.ts'
import { createShardQueue, type RunScript } from './shard-queue.ts'
import { boundedName, type Shards } from './shards.ts'
import type { ScriptOperation } from './take-script.ts'

type Options = {
  readonly shards: Shards
  readonly run: RunScript
  /** From receipt, over all groups of a take and all attempts. */
  readonly deadlineMs: number
  readonly timers: Timers
  readonly monotonicUs: () => number
}

type Answered = { readonly ok: true; readonly value: Replayed } | { readonly ok: false }

/** One group's part of a take: its buckets, and the place of each in the whole take. */
type Part = { readonly group: GroupKey; readonly buckets: readonly AskedBucket[]; readonly places: readonly number[] }

/**
 * Buckets in Redis. Those of one group are charged in one step. A take over several groups asks one after the other, in order; when a
 * later one refuses, what the earlier ones paid is kept as credit for their next take and never written back: a stored
 * deficit only grows by grants and shrinks by time.
 */
export const createRedisStore = ({ shards, run, deadlineMs, timers, monotonicUs }: Options): BucketStore => {
  const queues = Array.from({ length: shards.count }, () => createShardQueue(run))
  const credits = createCredits(monotonicUs)

  type Question = {
    readonly kind: ScriptOperation['kind']
    readonly buckets: readonly AskedBucket[]
    readonly cost: number
  }

  /** Runs one operation on the group's shard; not ok when the shard fails or has not answered at the deadline. */
  const ask = (group: GroupKey, { kind, buckets, cost }: Question, deadlineUs: number) =>
    new Promise<Answered>((resolve) => {
      const { shard, key } = shards.place(group)
      const withdraw = queues[shard]?.add({
        operation: { kind, key, cost, buckets },
        settle: (outcome) => {
          cancelTimer()
          resolve(
            outcome.ok ? { ok: true, value: replay(buckets, cost, outcome.result, outcome.place) } : { ok: false },
          )
        },
      })
      const cancelTimer = timers.after(Math.max(0, (deadlineUs - monotonicUs()) / 1000), () => {
        // What has arrived in the socket's buffer while the loop was busy still counts.
        timers.afterPoll(() => {
          withdraw?.()
          resolve({ ok: false })
        })
      })
    })

  /** Charges the group's buckets, but those for which this limiter holds credit. */
  const takePart = async ({ group, buckets }: Part, cost: number, deadlineUs: number): Promise<Answered> => {
    const used = buckets.map((asked) => (asked.enforced && cost > 0 ? credits.take(asked, cost) : undefined))
    if (used.every((credit) => credit === undefined)) return ask(group, { kind: 'take', buckets, cost }, deadlineUs)
    const isPrepaid = (_: AskedBucket, index: number) => used[index] !== undefined
    const prepaid = buckets.filter(isPrepaid)
    const payable = buckets.filter((asked, index) => !isPrepaid(asked, index))
    // Both leave in one call of the script.
    const [seen, charged] = await Promise.all([
      ask(group, { kind: 'take', buckets: prepaid, cost: 0 }, deadlineUs),
      ask(group, { kind: 'take', buckets: payable, cost }, deadlineUs),
    ])
    const granted = seen.ok && charged.ok && charged.value.granted
    if (!granted) putBack(buckets, used)
    if (!seen.ok || !charged.ok) return { ok: false }
    const [ofPrepaid, ofPayable] = [seen.value.readings.values(), charged.value.readings.values()]
    const readings = used.flatMap((credit) => [...(credit === undefined ? ofPayable : ofPrepaid).take(1)])
    return { ok: true, value: { granted, readings } }
  }

  const putBack = (buckets: readonly AskedBucket[], used: readonly (Credit | undefined)[]) => {
    for (const [index, asked] of buckets.entries()) {
      const credit = used[index]
      if (credit !== undefined) credits.putBack(asked, credit)
    }
  }

  const keepAsCredit = ({ buckets }: Part, cost: number, { readings }: Replayed) => {
    if (cost === 0) return
    for (const [index, asked] of buckets.entries()) {
      const reading = readings[index]
      // In shadow nothing is owed: what such a bucket paid for a refused request is a rehearsal's error, and small.
      if (asked.enforced && reading !== undefined) credits.keep(asked, cost, reading.bucket)
    }
  }

  /** What the groups hold that were not asked because an earlier one refused. */
  const look = async (parts: readonly Part[], cost: number, deadlineUs: number) => {
    const seen = await Promise.all(
      parts.map(({ group, buckets }) => ask(group, { kind: 'take', buckets, cost: 0 }, deadlineUs)),
    )
    return seen.map((answered, index): Answered => {
      if (!answered.ok) return answered
      const rules = parts[index]?.buckets.map(({ rule }) => rule) ?? []
      const readings = answered.value.readings.map(({ bucket }, at): Reading => {
        const rule = rules[at]
        return { bucket, held: rule !== undefined && holds(bucket, rule, cost) }
      })
      return { ok: true, value: { granted: false, readings } }
    })
  }

  return {
    take: async ({ cost, buckets }) => {
      const deadlineUs = monotonicUs() + deadlineMs * 1000
      const parts = partsOf(buckets)
      const paid: { readonly part: Part; readonly value: Replayed }[] = []
      const refundAll = () => {
        for (const { part, value } of paid) keepAsCredit(part, cost, value)
      }
      for (const [index, part] of parts.entries()) {
        const answered = await takePart(part, cost, deadlineUs)
        if (!answered.ok) {
          refundAll()
          return { kind: 'unavailable' }
        }
        if (!answered.value.granted) {
          refundAll()
          const rest = await look(parts.slice(index + 1), cost, deadlineUs)
          return assemble(
            parts,
            [...paid.map(({ value }): Answered => ({ ok: true, value })), answered, ...rest],
            false,
          )
        }
        paid.push({ part, value: answered.value })
      }
      return assemble(
        parts,
        paid.map(({ value }): Answered => ({ ok: true, value })),
        true,
      )
    },

    reset: async (buckets) => {
      const deadlineUs = monotonicUs() + deadlineMs * 1000
      for (const asked of buckets) credits.forget(asked)
      const done = await Promise.all(
        partsOf(buckets).map(({ group, buckets }) => ask(group, { kind: 'reset', buckets, cost: 0 }, deadlineUs)),
      )
      return { kind: done.every(({ ok }) => ok) ? 'reset' : 'unavailable' }
    },
  }
}

/** The buckets by group, in the order in which the groups first appear. */
const partsOf = (buckets: readonly AskedBucket[]): readonly Part[] => {
  const places = Map.groupBy(buckets.keys(), (place) => buckets[place]?.group)
  return [...places].flatMap(([group, indexes]) =>
    group === undefined
      ? []
      : [
          {
            group,
            places: indexes,
            buckets: indexes
              .flatMap((index) => buckets[index] ?? [])
              .map((asked) => ({ ...asked, key: boundedName(asked.key) })),
          },
        ],
  )
}

/** The parts' readings in the order of the whole take. */
const assemble = (parts: readonly Part[], answers: readonly Answered[], granted: boolean) => {
  const readings: Reading[] = []
  for (const [index, { places }] of parts.entries()) {
    const answered = answers[index]
    if (answered === undefined || !answered.ok) return { kind: 'unavailable' } as const
    for (const [at, place] of places.entries()) {
      const reading = answered.value.readings[at]
      if (reading !== undefined) readings[place] = reading
    }
  }
  return { kind: 'counted', basis: 'bucket', granted, readings } as const
}
