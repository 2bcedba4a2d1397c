import type { Rule } from '../../bucket/rule.ts'
import { oncePer } from '../core/once-per.ts'
import { type AskedBucket, bucketRef, type Reading, type Take, type TakeOutcome } from '../core/store.ts'
import type { Debit, DebitOutcome, RemoteStore } from '../share/debit.ts'
import { type AskOptions, createAsk } from './ask.ts'
import { createCredits } from './credits.ts'
import { type Charged, createGroupTakes, type GroupBuckets, type Payment } from './group-take.ts'
import { full, type Replayed, unseen } from './replay.ts'
import { boundedName, type Shards } from './shards.ts'

type Options = AskOptions & {
  /** From receipt, over all groups of a take and all attempts. */
  readonly deadlineMs: number
}

const NANO = 1_000_000_000
/** Nobody waits for a debit. */
const DEBIT_DEADLINE_MS = 1_000

/** A group's part of a take, and the place of each of its buckets in the whole take. */
type Part = GroupBuckets & { readonly places: readonly number[] }
type Seen = { readonly part: Part; readonly value: Replayed }
type Paid = Extract<Charged, { ok: true }>

/**
 * Buckets in Redis. Those of one group are charged in one step. A take over several groups asks one after the other, in order; when a
 * later one refuses, what the earlier ones paid is kept as credit for their next take and never written back: a stored
 * deficit only grows by grants and shrinks by time.
 */
export const createRedisStore = ({ deadlineMs, ...options }: Options): RemoteStore => {
  const { monotonicUs, witnesses, shards } = options
  const partsOf = oncePer((buckets: readonly AskedBucket[]) => partsIn(shards, buckets))
  const { ask, isAnswering } = createAsk(options)
  const credits = createCredits(monotonicUs)
  const groups = createGroupTakes({ ask }, credits)

  /** For the report only: the request is refused already, so a bucket that does not answer is taken for full. */
  const lookAtRest = (parts: readonly Part[], payment: Payment, deadlineUs: number): Promise<readonly Seen[]> =>
    Promise.all(
      parts.map(async (part) => {
        const seen = await groups.look(part, payment, deadlineUs)
        return {
          part,
          value: seen.ok ? seen.value : unseen(part.buckets),
        }
      }),
    )

  /** What the store would refuse, as this limiter has seen it: then nothing is asked, and nothing is paid. */
  const refuse = (parts: readonly Part[], { cost, requestId }: Payment): TakeOutcome | undefined => {
    // Under an id the store may remember a grant; a cost of 0 is never refused.
    if (witnesses === undefined || cost === 0 || requestId !== undefined) return undefined
    // The usual case first, for which nothing need be made.
    if (!parts.some(({ buckets }) => buckets.some((asked) => witnesses.mayLack(asked, cost)))) return undefined
    const isPrepaid = (asked: AskedBucket) => credits.has(asked, cost)
    const refusals = parts.map(({ buckets }) => witnesses.refuse(buckets, cost, isPrepaid))
    if (refusals.every((readings) => readings === undefined)) return undefined
    const seen = parts.map((part, index): Seen => {
      const readings = refusals[index] ?? part.buckets.map(full)
      return { part, value: { granted: false, replayed: false, readings } }
    })
    return counted(false, seen)
  }

  // These two are not async: each take would wait for two more promises.
  const take = (whole: Take, deadlineUs: number): Promise<TakeOutcome> => {
    const parts = partsOf(whole.buckets)
    const refused = refuse(parts, whole)
    if (refused !== undefined) return Promise.resolve(refused)
    const [part] = parts
    // Nearly every take: nobody else's refusal can make this part's payment one for nothing.
    return part !== undefined && parts.length === 1
      ? takeOfOne(part, whole, deadlineUs)
      : takeOfSeveral(parts, whole, deadlineUs)
  }

  const takeOfOne = (part: Part, whole: Take, deadlineUs: number) =>
    groups.charge(part, whole, deadlineUs).then((charged): TakeOutcome => {
      if (charged.ok) {
        const { granted, replayed, readings } = charged.value
        return { kind: 'counted', basis: 'bucket', granted, replayed: granted && replayed, readings }
      }
      return {
        kind: 'unavailable',
        settle: async (admitted) => ((await charged.settle(admitted)) && admitted ? whole.buckets : []),
      }
    })

  const takeOfSeveral = async (parts: readonly Part[], whole: Take, deadlineUs: number): Promise<TakeOutcome> => {
    const { buckets } = whole
    const paid: { readonly part: Part; readonly charged: Paid }[] = []
    const refundAll = () => {
      for (const { part, charged } of paid) groups.refund(part, whole, charged)
    }
    for (const [index, part] of parts.entries()) {
      const charged = await groups.charge(part, whole, deadlineUs)
      if (charged.ok && charged.value.granted) {
        paid.push({ part, charged })
        continue
      }
      if (!charged.ok)
        return {
          kind: 'unavailable',
          settle: async (admitted) => {
            if (!admitted) refundAll()
            const all = [...paid.map((one) => one.part), ...((await charged.settle(admitted)) ? [part] : [])]
            return admitted ? all.flatMap(({ places }) => places.flatMap((place) => buckets[place] ?? [])) : []
          },
        }
      refundAll()
      const rest = await lookAtRest(parts.slice(index + 1), whole, deadlineUs)
      return counted(false, [...paid.map(seenIn), { part, value: charged.value }, ...rest])
    }
    return counted(true, paid.map(seenIn))
  }

  const deadlineUs = () => monotonicUs() + deadlineMs * 1000

  const debit = async ({ asked, nano, id }: Debit): Promise<DebitOutcome> => {
    const answered = await ask(
      shards.place(asked.group),
      {
        kind: 'debit',
        buckets: [bounded(asked)],
        cost: Math.floor(nano / NANO),
        extraNano: nano % NANO,
        requestId: id,
      },
      monotonicUs() + DEBIT_DEADLINE_MS * 1000,
    )
    const came = answered.ok ? ({ kind: 'ran', value: answered.value } as const) : await answered.late
    if (came.kind !== 'ran') return { kind: came.kind === 'unknown' ? 'unknown' : 'not_charged' }
    const [before = full()] = came.value.readings
    return { kind: 'charged', reading: came.value.replayed ? before : debited(before, asked.rule, nano) }
  }

  return {
    take: (whole) => take(whole, deadlineUs()),
    debit,
    isAnswering: ({ group }) => isAnswering(group),
    reset: async (buckets) => {
      for (const asked of buckets) {
        credits.forget(asked)
        witnesses?.forget(bounded(asked))
      }
      const resets = partsIn(shards, buckets).map((part) =>
        ask(part.placed, { kind: 'reset', buckets: part.buckets, cost: 0 }, deadlineUs()),
      )
      const done = await Promise.all(resets)
      return { kind: done.every(({ ok }) => ok) ? 'reset' : 'unavailable' }
    },
  }
}

const seenIn = ({ part, charged }: { readonly part: Part; readonly charged: Paid }): Seen => ({
  part,
  value: charged.value,
})

const debited = (before: Reading, { capacityTokens }: Rule, nano: number): Reading => {
  const { deficitNano, atUs } = before.bucket
  return { ...before, bucket: { deficitNano: Math.min(deficitNano + nano, capacityTokens * NANO), atUs } }
}

const bounded = (asked: AskedBucket): AskedBucket => {
  const key = boundedName(asked.key)
  return key === asked.key ? asked : { ...asked, ...bucketRef(asked.group, key) }
}

/** Buckets by group, in the order in which the groups first appear. */
const partsIn = (shards: Shards, buckets: readonly AskedBucket[]): readonly Part[] => {
  const byGroup = Map.groupBy(buckets.entries(), ([, { group }]) => group)
  return [...byGroup].map(([group, found]) => ({
    placed: shards.place(group),
    places: found.map(([place]) => place),
    buckets: found.map(([, asked]) => bounded(asked)),
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
