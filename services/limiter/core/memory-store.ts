import { type Bucket, charge, holds, refill, untilFullUs } from '../../bucket/bucket.ts'
import {
  type AskedBucket,
  type BucketKey,
  type BucketRef,
  type BucketStore,
  type GroupKey,
  REMEMBERED_US,
  type Reading,
  requestKey,
} from './store.ts'

/** Beyond either bound the fullest go: whose loss gives away the least. */
const MAX_GROUPS = 200_000
export const MAX_BUCKETS_PER_GROUP = 128

/** How many groups are looked at when one must go, and when none must. */
const EVICTION_SAMPLE = 16
const SWEEP_SAMPLE = 2

export type MemoryStoreStats = {
  readonly groups: number
  readonly evictedGroups: number
  readonly evictedBuckets: number
}

export type MemoryStore = BucketStore & { readonly stats: () => MemoryStoreStats }

type Entry = { readonly bucket: Bucket; readonly fullAtUs: number }
type Group = { readonly entries: Map<BucketKey, Entry>; fullAtUs: number }

type Options = {
  /** The store's clock, in whole microseconds. */
  readonly nowUs: () => number
  readonly maxGroups?: number
}

/** Buckets in this process. A take runs in one step of the event loop, so it is atomic over all its buckets. */
export const createMemoryStore = ({ nowUs, maxGroups = MAX_GROUPS }: Options): MemoryStore => {
  // In the order in which they were last looked at for eviction.
  const groups = new Map<GroupKey, Group>()
  let evictedGroups = 0
  let evictedBuckets = 0

  const read = (asked: AskedBucket, cost: number, now: number): Reading => {
    const { group, key, rule } = asked
    const stored = groups.get(group)?.entries.get(key)?.bucket
    const bucket = refill(stored, rule, now)
    // It follows a clock that was set back: else each refusal would find it standing still again.
    if (stored !== undefined && bucket.atUs < stored.atUs) writeBucket(asked, bucket, now)
    return { bucket, held: holds(bucket, rule, cost) }
  }

  const writeBucket = (asked: AskedBucket, bucket: Bucket, now: number) =>
    write(asked, { bucket, fullAtUs: bucket.atUs + untilFullUs(bucket, asked.rule) }, now)

  const write = ({ group: groupKey, key }: BucketRef, entry: Entry, now: number) => {
    const group = groups.get(groupKey) ?? addGroup(groupKey, now)
    if (!group.entries.has(key) && group.entries.size >= MAX_BUCKETS_PER_GROUP) evictBucket(group, now)
    group.entries.set(key, entry)
    group.fullAtUs = Math.max(group.fullAtUs, entry.fullAtUs)
  }

  const addGroup = (key: GroupKey, now: number) => {
    makeRoom(now)
    const group: Group = { entries: new Map(), fullAtUs: now }
    groups.set(key, group)
    return group
  }

  /** Forgets a few groups that are full again; if that is not enough, the fullest of a sample, as Redis does by `volatile-ttl`. */
  const makeRoom = (now: number) => {
    const sample = groups
      .entries()
      .take(groups.size >= maxGroups ? EVICTION_SAMPLE : SWEEP_SAMPLE)
      .toArray()
    for (const [key, group] of sample) {
      groups.delete(key)
      if (group.fullAtUs > now) groups.set(key, group)
    }
    if (groups.size < maxGroups) return
    const fullest = sample.reduce((least, one) => (one[1].fullAtUs < least[1].fullAtUs ? one : least))
    groups.delete(fullest[0])
    evictedGroups += 1
  }

  const evictBucket = ({ entries }: Group, now: number) => {
    const fullest = entries.entries().reduce((least, one) => (one[1].fullAtUs < least[1].fullAtUs ? one : least))
    entries.delete(fullest[0])
    if (fullest[1].fullAtUs > now) evictedBuckets += 1
  }

  const remembers = ({ group, key }: BucketRef, now: number) =>
    (groups.get(group)?.entries.get(key)?.fullAtUs ?? now) > now

  const forget = ({ group: groupKey, key }: BucketRef) => {
    const group = groups.get(groupKey)
    group?.entries.delete(key)
    if (group?.entries.size === 0) groups.delete(groupKey)
  }

  return {
    take: async ({ cost, buckets, requestId }) => {
      const now = nowUs()
      const memory = memoryOf(requestId, buckets)
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
        writeBucket(asked, bucket, now)
        return { bucket, held: true }
      })
      if (memory !== undefined)
        write(memory, { bucket: { deficitNano: 0, atUs: now }, fullAtUs: now + REMEMBERED_US }, now)
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
const memoryOf = (requestId: string | undefined, [first]: readonly AskedBucket[]): BucketRef | undefined =>
  requestId === undefined || first === undefined ? undefined : { group: first.group, key: requestKey(requestId) }
