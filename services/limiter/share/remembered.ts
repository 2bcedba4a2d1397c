import { type Bucket, refill } from '../../bucket/bucket.ts'
import { createNamedMap } from '../core/named-map.ts'
import { roundOf } from '../core/round.ts'
import type { AskedBucket, Reading } from '../core/store.ts'

/** Beyond it the bucket that was asked for the first time longest ago is forgotten. */
const MAX_BUCKETS = 100_000
/** This limiter's part of a bucket's traffic is measured over windows of this length, … */
const WINDOW_US = 10_000_000
/** … of those in which it asked at least so often, … */
const MIN_ASKED = 5
/** … and says nothing about a bucket that it has not asked for so long. */
const STALE_US = 60_000_000
/** No limiter's part is taken to be less: a bucket of which it got nothing lately may be its own next. */
const MIN_PART = 0.001

/** How much of a bucket's traffic this limiter saw, from one moment on. */
type Window = { readonly sinceUs: number; readonly fromTokens: number; asked: number; ownTokens: number }

type Entry = { bucket: Bucket; grantedTokens: number; window: Window; part: number | undefined; askedAtUs: number }

export type Remembered = {
  /** What the store said of a bucket, just now, to a take that was granted or not. */
  readonly learn: (asked: AskedBucket, reading: Reading, ownTokens: number) => void
  /** The bucket as it was last seen, refilled since; on the monotonic clock. A full one when nothing is known. */
  readonly recall: (asked: AskedBucket) => Bucket
  /** This limiter's part of the tokens granted lately from the bucket, 0 to 1; `undefined`: too little is known. */
  readonly part: (asked: AskedBucket) => number | undefined
  /** The bucket as it must be by what this limiter did, where the store has not yet said. */
  readonly assume: (asked: AskedBucket, bucket: Bucket) => void
  readonly forget: (asked: AskedBucket) => void
  readonly size: () => number
}

/** What the store last said of each bucket that is not full, and who spent it. */
export const createRemembered = (monotonicUs: () => number, maxBuckets = MAX_BUCKETS): Remembered => {
  const named = createNamedMap<string, Entry>(maxBuckets)
  const { entries } = named
  const oldest = roundOf(entries)

  const add = (name: string, bucket: Bucket, grantedTokens: number, nowUs: number) => {
    while (!named.hasRoom()) named.delete(oldest()?.[0] ?? name)
    const entry: Entry = {
      bucket,
      grantedTokens,
      window: { sinceUs: nowUs, fromTokens: grantedTokens, asked: 0, ownTokens: 0 },
      part: undefined,
      askedAtUs: nowUs,
    }
    named.set(name, entry)
    return entry
  }

  return {
    learn: (asked, { bucket: { deficitNano }, grantedTokens = 0 }, ownTokens) => {
      const name = asked.name
      const nowUs = monotonicUs()
      const known = entries.get(name)
      if (deficitNano === 0) {
        if (known !== undefined) named.delete(name)
        return
      }
      const bucket = { deficitNano, atUs: nowUs }
      if (known === undefined) {
        // What was granted before this limiter came is nobody's part.
        add(name, bucket, grantedTokens, nowUs)
        return
      }
      // A bucket that was full in between counts anew.
      if (grantedTokens < known.grantedTokens || nowUs - known.window.sinceUs >= WINDOW_US) {
        known.part = partOf(known) ?? known.part
        known.window = { sinceUs: nowUs, fromTokens: grantedTokens - ownTokens, asked: 0, ownTokens: 0 }
      }
      known.window.asked += 1
      known.window.ownTokens += ownTokens
      known.bucket = bucket
      known.grantedTokens = grantedTokens
      known.askedAtUs = nowUs
    },
    recall: (asked) => refill(entries.get(asked.name)?.bucket, asked.rule, monotonicUs()),
    part: (asked) => {
      const known = entries.get(asked.name)
      if (known === undefined || monotonicUs() - known.askedAtUs > STALE_US) return undefined
      return partOf(known) ?? known.part
    },
    assume: (asked, bucket) => {
      const known = entries.get(asked.name)
      if (known === undefined) add(asked.name, bucket, 0, monotonicUs())
      else known.bucket = bucket
    },
    forget: (asked) => void named.delete(asked.name),
    size: () => entries.size,
  }
}

const partOf = ({ window: { asked, ownTokens, fromTokens }, grantedTokens }: Entry) => {
  const all = grantedTokens - fromTokens
  if (asked < MIN_ASKED || all <= 0) return undefined
  return Math.min(1, Math.max(MIN_PART, ownTokens / all))
}
