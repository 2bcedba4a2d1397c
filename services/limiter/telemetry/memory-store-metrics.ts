import type { Metrics } from '../../platform/metrics.ts'
import type { MemoryStoreStats } from '../core/memory-store.ts'

/** Declares what the limiter publishes of a store in its memory. */
export const publishMemoryStore = (metrics: Metrics, stats: () => MemoryStoreStats) => {
  metrics.gauge({
    name: 'weir_memory_store_subjects',
    help: 'Subjects with a bucket that is not full, in the memory store',
    labels: [],
    read: () => [{ labels: {}, value: stats().groups }],
  })
  metrics.counter({
    name: 'weir_memory_store_evictions_total',
    help: 'Subjects and buckets forgotten before they were full, because the memory store was',
    labels: ['kind'],
    read: () => [
      { labels: { kind: 'subject' }, value: stats().evictedGroups },
      { labels: { kind: 'bucket' }, value: stats().evictedBuckets },
    ],
  })
}
