import type { Bucket } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Brand } from '../../contract/brand.ts'

/** Names the buckets that live together and change in one step: those of a subject, or one that counts across subjects. */
export type GroupKey = Brand<'GroupKey'>
/** Names a bucket within its group. */
export type BucketKey = Brand<'BucketKey'>

/** A bucket's group and key in one text: no group holds a space. */
export type BucketName = Brand<'BucketName'>

export type BucketRef = { readonly group: GroupKey; readonly key: BucketKey; readonly name: BucketName }

/** The name is made once: a text that is made anew has to be hashed anew by every map that is asked for it. */
export const bucketRef = (group: GroupKey, key: BucketKey): BucketRef => ({
  group,
  key,
  name: `${group} ${key}` as BucketName,
})

/** A bucket that a take asks: an enforced one decides with the others, one in shadow only counts. */
export type AskedBucket = BucketRef & { readonly rule: Rule; readonly enforced: boolean }

/** One request's takings: its cost from every enforced bucket, or from none. The subject's buckets come first. */
export type Take = {
  /** At most the capacity of every enforced bucket; 0 reads and charges nothing. */
  readonly cost: number
  readonly buckets: readonly AskedBucket[]
  /** A grant is remembered under it, with the buckets, for REMEMBERED_US; while it is, the same take is granted and charges nothing. */
  readonly requestId?: string
}

export const REMEMBERED_US = 2_000_000

/**
 * The name under which a group remembers a request; no bucket's begins with this character. It says what was paid for, so that the id
 * of a small request lets no other one pass.
 */
export const requestKey = (requestId: string, cost: number, buckets: readonly BucketRef[]) =>
  `\u0000${cost} ${buckets.map(({ key }) => key).join(' ')} ${requestId}` as BucketKey

export const isRequestKey = (key: BucketKey) => key.startsWith('\u0000')

/** A bucket as the take left it, and whether it held the cost before. */
export type Reading = {
  readonly bucket: Bucket
  readonly held: boolean
  /** Tokens granted since the bucket was last full, by all limiters together; absent where nobody counts them. */
  readonly grantedTokens?: number
  /** Nobody looked: it is only taken for full. */
  readonly isUnseen?: true
  /** Where the bucket stands for this limiter's share of the whole: how many times its cost a take weighs in it. */
  readonly stretch?: number
}

/**
 * To be told, once, whether the request that the store did not answer for was admitted all the same. Resolves with the buckets
 * that it was charged in after all, as a late reply shows; of a refused request, that is squared with its next takes.
 */
export type Settle = (admitted: boolean) => Promise<readonly AskedBucket[]>

export type TakeOutcome =
  | {
      readonly kind: 'counted'
      /** `share`: counted by this limiter alone, for its part of the bucket, while the store is away. */
      readonly basis: 'bucket' | 'share'
      readonly granted: boolean
      /** The take's id was remembered: nothing was charged. */
      readonly replayed: boolean
      /** One for each bucket asked, in that order. */
      readonly readings: readonly Reading[]
    }
  | { readonly kind: 'unavailable'; readonly settle: Settle }

/**
 * Where buckets live. Every store passes `store.conformance.ts`.
 * Neither call ever rejects: a store that cannot be reached is an outcome.
 */
export type BucketStore = {
  /** Grants exactly when every enforced bucket holds the cost, and then charges each; a bucket in shadow pays if it holds the cost too. */
  readonly take: (take: Take) => Promise<TakeOutcome>
  /** Fills the buckets. */
  readonly reset: (buckets: readonly AskedBucket[]) => Promise<{ readonly kind: 'reset' | 'unavailable' }>
}
