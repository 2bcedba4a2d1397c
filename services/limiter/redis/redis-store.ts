import type { Timers } from '../../seams/timers.ts'
import type { AskedBucket, BucketStore, Reading, Take, TakeOutcome } from '../core/store.ts'
import { createAsk } from './ask.ts'
import { createCredits } from './credits.ts'
import { createGroupTakes, type GroupTake } from './group-take.ts'
import type { Replayed } from './replay.ts'
import type { RunScript } from './shard-queue.ts'
import { boundedName, type Shards } from './shards.ts'

type Options = {
  readonly shards: Shards
  readonly run: RunScript
  /** From receipt, over all groups of a take and all attempts. */
  readonly deadlineMs: number
  readonly timers: Timers
  readonly monotonicUs: () => number
}

/** A group's part of a take, and the place of each of its buckets in the whole take. */
type Part = GroupTake & { readonly places: readonly number[] }
type Seen = { readonly part: Part; readonly value: Replayed }

/**
 * Buckets in Redis. Those of one group are charged in one step. A take over several groups asks one after the other, in order; when a
 * later one refuses, what the earlier ones paid is kept as credit for their next take and never written back: a stored
 * deficit only grows by grants and shrinks by time.
 */
export const createRedisStore = ({ shards, run, deadlineMs, timers, monotonicUs }: Options): BucketStore => {
  const ask = createAsk({ shards, run, timers, monotonicUs })
  const credits = createCredits(monotonicUs)
  const groups = createGroupTakes(ask, credits)

  const lookAtRest = async (parts: readonly Part[], deadlineUs: number): Promise<readonly Seen[] | undefined> => {
    const seen = await Promise.all(parts.map(async (part) => ({ part, answered: await groups.look(part, deadlineUs) })))
    const known = seen.flatMap(({ part, answered }) => (answered.ok ? [{ part, value: answered.value }] : []))
    return known.length === parts.length ? known : undefined
  }

  const take = async (parts: readonly Part[], deadlineUs: number): Promise<TakeOutcome> => {
    const paid: (Seen & { readonly refund: () => void })[] = []
    for (const [index, part] of parts.entries()) {
      const answered = await groups.charge(part, deadlineUs)
      if (answered.ok && answered.value.granted) {
        paid.push({ part, ...answered })
        continue
      }
      for (const { refund } of paid) refund()
      const rest = answered.ok ? await lookAtRest(parts.slice(index + 1), deadlineUs) : undefined
      if (!answered.ok || rest === undefined) return { kind: 'unavailable' }
      return counted(false, [...paid, { part, value: answered.value }, ...rest])
    }
    return counted(true, paid)
  }

  const deadlineUs = () => monotonicUs() + deadlineMs * 1000

  return {
    take: (whole) => take(partsOf(whole), deadlineUs()),
    reset: async (buckets) => {
      for (const asked of buckets) credits.forget(asked)
      const resets = partsOf({ cost: 0, buckets }).map((part) =>
        ask(part.group, { kind: 'reset', buckets: part.buckets, cost: 0 }, deadlineUs()),
      )
      const done = await Promise.all(resets)
      return { kind: done.every(({ ok }) => ok) ? 'reset' : 'unavailable' }
    },
  }
}

/** The take by group, in the order in which the groups first appear. */
const partsOf = ({ cost, buckets, requestId }: Take): readonly Part[] => {
  const byGroup = Map.groupBy(buckets.entries(), ([, { group }]) => group)
  return [...byGroup].map(([group, placed]) => ({
    group,
    cost,
    requestId,
    places: placed.map(([place]) => place),
    buckets: placed.map(([, asked]): AskedBucket => ({ ...asked, key: boundedName(asked.key) })),
  }))
}

/** The readings of all groups in the order of the whole take. */
const counted = (granted: boolean, seen: readonly Seen[]): TakeOutcome => {
  const readings: Reading[] = []
  for (const { part, value } of seen)
    for (const [index, reading] of value.readings.entries()) {
      const place = part.places[index]
      if (place !== undefined) readings[place] = reading
    }
  const replayed = granted && seen.length > 0 && seen.every(({ value }) => value.replayed)
  return { kind: 'counted', basis: 'bucket', granted, replayed, readings }
}
