import type { AskedBucket, BucketStore } from '../core/store.ts'

/**
 * What a limiter admitted alone, to be charged whatever the bucket holds; the bucket ends empty at worst, never in debt.
 * The id makes it safe to send a second time within REMEMBERED_US.
 */
export type Debit = { readonly asked: AskedBucket; readonly nano: number; readonly id: string }

/** A store that can be away, and is told afterwards what was admitted meanwhile. */
export type RemoteStore = BucketStore & {
  /** Whether the bucket's shard answers, as far as is known: nothing is asked of it to find out. */
  readonly isAnswering: (asked: AskedBucket) => boolean
  /** Sent before any take that is asked for in the same tick. `unknown`: it may have been charged. */
  readonly debit: (debit: Debit) => Promise<'charged' | 'not_charged' | 'unknown'>
}
