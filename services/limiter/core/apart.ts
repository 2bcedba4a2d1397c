import type { AskedBucket, BucketStore, GroupKey } from './store.ts'

/** No group's own name begins so. */
const PREFIX = 'r:'

const moved = (asked: AskedBucket): AskedBucket => ({ ...asked, group: `${PREFIX}${asked.group}` as GroupKey })

/** The store under a namespace of a rehearsal's own: what is taken there is missing in no bucket that decides. */
export const apart = (store: Pick<BucketStore, 'take' | 'reset'>): BucketStore => ({
  take: (take) => store.take({ ...take, buckets: take.buckets.map(moved) }),
  reset: (buckets) => store.reset(buckets.map(moved)),
})
