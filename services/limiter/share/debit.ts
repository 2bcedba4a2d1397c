import type { AskedBucket, BucketStore, Reading } from '../core/store.ts'

/**
 * What a limiter admitted alone, to be charged whatever the bucket holds; the bucket ends empty at worst, never in debt.
 * The id makes it safe to send a second time within REMEMBERED_US.
 */
export type Debit = { readonly asked: AskedBucket; readonly nano: number; readonly id: string }

/** `charged`: the bucket as the debit left it. `unknown`: it may have been charged. */
export type DebitOutcome =
  | { readonly kind: 'charged'; readonly reading: Reading }
  | { readonly kind: 'not_charged' | 'unknown' }

/** A store that can be away, and is told afterwards what was admitted meanwhile. */
export type RemoteStore = BucketStore & {
  /** Whether the bucket's shard answers, as far as is known: nothing is asked of it to find out. */
  readonly isAnswering: (asked: AskedBucket) => boolean
  /** Sent before any take that is asked for in the same tick. */
  readonly debit: (debit: Debit) => Promise<DebitOutcome>
}
