import { createDistribution, durationBoundsS } from '../../platform/distribution.ts'
import { createLabelled } from '../../platform/labelled.ts'
import type { Metrics } from '../../platform/metrics.ts'

/** One call of the store's script has ended. */
type StoreCall = {
  /** Takes that it stood for, … */
  readonly takes: number
  /** … and operations that they were merged into. */
  readonly operations: number
  readonly elapsedUs: number
  readonly ok: boolean
  /** Buckets and remembered requests that it left out, because a group had too many. */
  readonly dropped: number
}

const BATCH_BOUNDS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]

/** Declares what the limiter publishes of its calls of a store; the function returned counts one. */
export const publishStoreCalls = (metrics: Metrics) => {
  const durations = createLabelled(['result'], () => createDistribution(durationBoundsS))
  const answered = durations.at('answered')
  const failed = durations.at('failed')
  const batches = createDistribution(BATCH_BOUNDS)
  let takes = 0
  let merged = 0
  let dropped = 0

  metrics.histogram({
    name: 'weir_store_duration_seconds',
    help: 'Time of one call of the store, with all attempts, by whether it answered',
    labels: durations.labels,
    bounds: durationBoundsS,
    read: () => durations.read().map(({ labels, item }) => ({ labels, distribution: item.read() })),
  })
  metrics.histogram({
    name: 'weir_store_batch_operations',
    help: 'Operations that one call of the store carried',
    labels: [],
    bounds: BATCH_BOUNDS,
    read: () => [{ labels: {}, distribution: batches.read() }],
  })
  metrics.counter({
    name: 'weir_store_takes_total',
    help: 'Takes that were sent to the store',
    labels: [],
    read: () => [{ labels: {}, value: takes }],
  })
  metrics.counter({
    name: 'weir_store_merged_takes_total',
    help: 'Takes that travelled as part of an equal one',
    labels: [],
    read: () => [{ labels: {}, value: merged }],
  })
  metrics.counter({
    name: 'weir_store_dropped_buckets_total',
    help: 'Buckets and remembered requests that were dropped because a subject had more than 128 of either',
    labels: [],
    read: () => [{ labels: {}, value: dropped }],
  })

  return (call: StoreCall) => {
    const distribution = call.ok ? answered : failed
    distribution.record(call.elapsedUs / 1_000_000)
    batches.record(call.operations)
    takes += call.takes
    merged += call.takes - call.operations
    dropped += call.dropped
  }
}
