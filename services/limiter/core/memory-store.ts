import { type Bucket, charge, holds, refill, untilFullUs } from '../../bucket/bucket.ts'
import { roundOf } from './round.ts'
import {
  type AskedBucket,
  type BucketKey,
  type BucketRef,
  type BucketStore,
  bucketRef,
  type GroupKey,
  isRequestKey,
  REMEMBERED_US,
  type Reading,
  requestKey,
  type Take,
} from './store.ts'

/** Beyond any of these bounds the fullest go: whose loss gives away the least. */
const MAX_GROUPS = 200_000
const MAX_BYTES = 128 * 1024 * 1024
/** And as many remembered requests. */
export const MAX_BUCKETS_PER_GROUP = 128

/** About what a group and a bucket take beside their keys, which hold what callers make up. */
const GROUP_BYTES = 300
const BUCKET_BYTES = 150
const bytesOf = (key: string) => key.length * 2

/** How many groups are looked at when one must go, and when none must. */
const EVICTION_SAMPLE = 16
const SWEEP_SAMPLE = 4

export type MemoryStoreStats = {
  readonly groups: number
  readonly evictedGroups: number
  readonly evictedBuckets: number
}

export type MemoryStore = BucketStore & { readonly stats: () => MemoryStoreStats }

type Entry = { readonly bucket: Bucket; readonly fullAtUs: number }
type Group = { readonly entries: Map<BucketKey, Entry>; fullAtUs: number; bytes: number }

type Options = {
  /** The store's clock, in whole microseconds. */
  readonly nowUs: () => number
  readonly maxGroups?: number
  readonly maxBytes?: number
}

/** Buckets in this process. A take runs in one step of the event loop, so it is atomic over all its buckets. */
export const createMemoryStore = (options: Options): MemoryStore => {
  const { nowUs, maxGroups = MAX_GROUPS, maxBytes = MAX_BYTES } = options
  const groups = new Map<GroupKey, Group>()
  const nextGroup = roundOf(groups)
  let bytes = 0
  let evictedGroups = 0
  let evictedBuckets = 0

  const read = (asked: AskedBucket, cost: number, now: number): Reading => {
    const { group, key, rule } = asked
    const stored = groups.get(group)?.entries.get(key)?.bucket
    const bucket = refill(stored, rule, now)
    // It follows a clock that was set back: else each refusal would find it standing still again.
    if (stored !== undefined && bucket.atUs < stored.atUs) writeBucket(asked, bucket, now, [asked])
    return { bucket, held: holds(bucket, rule, cost) }
  }

  const writeBucket = (asked: AskedBucket, bucket: Bucket, now: number, kept: readonly BucketRef[]) =>
    write(asked, { bucket, fullAtUs: bucket.atUs + untilFullUs(bucket, asked.rule) }, now, kept)

  /** `kept`: what the same take asks for, which must not go to make room. */
  const write = ({ group: groupKey, key }: BucketRef, entry: Entry, now: number, kept: readonly BucketRef[]) => {
    const isNew = groups.get(groupKey)?.entries.has(key) !== true
    if (isNew) makeRoom(groupKey, now)
    const group = groups.get(groupKey) ?? addGroup(groupKey, now)
    if (isNew) {
      if (group.entries.size >= MAX_BUCKETS_PER_GROUP) evictRival(group, key, now, kept)
      weigh(group, BUCKET_BYTES + bytesOf(key))
    }
    group.entries.set(key, entry)
    group.fullAtUs = Math.max(group.fullAtUs, entry.fullAtUs)
  }

  const addGroup = (key: GroupKey, now: number) => {
    const group: Group = { entries: new Map(), fullAtUs: now, bytes: 0 }
    groups.set(key, group)
    weigh(group, GROUP_BYTES + bytesOf(key))
    return group
  }

  const weigh = (group: Group, more: number) => {
    group.bytes += more
    bytes += more
  }

  const removeGroup = (key: GroupKey, group: Group) => {
    groups.delete(key)
    bytes -= group.bytes
  }

  /** Forgets a few groups that are full again; if that is not enough, the fullest of a sample, as Redis does by `volatile-ttl`. */
  const makeRoom = (forGroup: GroupKey, now: number) => {
    const isCrowded = () => bytes >= maxBytes || (groups.size >= maxGroups && !groups.has(forGroup))
    if (!isCrowded()) sweep(SWEEP_SAMPLE, now)
    while (isCrowded()) {
      const fullest = sweep(EVICTION_SAMPLE, now)
      if (fullest === undefined || !isCrowded()) continue
      removeGroup(...fullest)
      evictedGroups += 1
    }
  }

  /** Forgets those of the next few groups that are full again; gives the fullest of the others. */
  const sweep = (count: number, now: number) => {
    let fullest: readonly [GroupKey, Group] | undefined
    for (let looked = 0; looked < count; looked += 1) {
      const next = nextGroup()
      if (next === undefined) break
      const [key, group] = next
      if (group.fullAtUs <= now) removeGroup(key, group)
      else if (fullest === undefined || group.fullAtUs < fullest[1].fullAtUs) fullest = next
    }
    return fullest
  }

  /** Buckets make room for buckets, and remembered requests for remembered requests. */
  const evictRival = (group: Group, key: BucketKey, now: number, kept: readonly BucketRef[]) => {
    const rivals = [...group.entries].filter(([rival]) => isRequestKey(rival) === isRequestKey(key))
    if (rivals.length < MAX_BUCKETS_PER_GROUP) return
    const [first, ...others] = rivals.filter(([rival]) => !kept.some((one) => one.key === rival))
    if (first === undefined) return
    const fullest = others.reduce((least, one) => (one[1].fullAtUs < least[1].fullAtUs ? one : least), first)
    removeBucket(group, fullest[0])
    if (fullest[1].fullAtUs > now) evictedBuckets += 1
  }

  const removeBucket = (group: Group, key: BucketKey) => {
    if (group.entries.delete(key)) weigh(group, -BUCKET_BYTES - bytesOf(key))
  }

  const remembers = ({ group, key }: BucketRef, now: number) =>
    (groups.get(group)?.entries.get(key)?.fullAtUs ?? now) > now

  const forget = ({ group: groupKey, key }: BucketRef) => {
    const group = groups.get(groupKey)
    if (group === undefined) return
    removeBucket(group, key)
    if (group.entries.size === 0) removeGroup(groupKey, group)
  }

  return {
    take: async (take) => {
      const { cost, buckets } = take
      const now = nowUs()
      const memory = memoryOf(take)
      if (memory !== undefined && remembers(memory, now)) {
        const readings = buckets.map((asked) => ({ ...read(asked, 0, now), held: true }))
        return { kind: 'counted', basis: 'bucket', granted: true, replayed: true, readings }
      }
      const before = buckets.map((asked) => read(asked, cost, now))
      const granted = buckets.every(({ enforced }, index) => !enforced || before[index]?.held === true)
      if (!granted || cost === 0)
        return { kind: 'counted', basis: 'bucket', granted, replayed: false, readings: before }
      const readings = before.map((reading, index): Reading => {
        const asked = buckets[index]
        if (asked === undefined || !reading.held) return reading
        const bucket = charge(reading.bucket, cost)
        writeBucket(asked, bucket, now, buckets)
        return { bucket, held: true }
      })
      if (memory !== undefined)
        write(memory, { bucket: { deficitNano: 0, atUs: now }, fullAtUs: now + REMEMBERED_US }, now, buckets)
      return { kind: 'counted', basis: 'bucket', granted, replayed: false, readings }
    },
    reset: async (buckets) => {
      for (const bucket of buckets) forget(bucket)
      return { kind: 'reset' }
    },
    stats: () => ({ groups: groups.size, evictedGroups, evictedBuckets }),
  }
}

/** Where a request's grant is remembered: among its subject's buckets, which go when they are needed least. */
const memoryOf = ({ requestId, cost, buckets }: Take): BucketRef | undefined => {
  const [first] = buckets
  if (requestId === undefined || first === undefined) return undefined
  return bucketRef(first.group, requestKey(requestId, cost, buckets))
}
