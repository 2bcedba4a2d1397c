import type { Metrics } from '../../platform/metrics.ts'

/** A store that limiters share, and what this one has admitted without it. */
type SharedStore = {
  readonly limiters: number
  readonly rememberedBuckets: number
  readonly openAccounts: number
  readonly evictedAccounts: number
  readonly chargedNano: number
  readonly lostNano: number
}

/** None where the limiter keeps none. */
type Witnesses = {
  readonly buckets: number
  readonly losses: number
  readonly vetoes: number
  readonly taught: number
  readonly localRefusals: number
}

const NANO = 1_000_000_000

/** Declares what the limiter publishes of the store that it shares. */
export const publishSharedStore = (metrics: Metrics, read: () => SharedStore) => {
  const sample = (value: (store: SharedStore) => number) => () => [{ labels: {}, value: value(read()) }]
  metrics.gauge({
    name: 'weir_store_limiters',
    help: 'Limiters that shared the store lately, this one included',
    labels: [],
    read: sample(({ limiters }) => limiters),
  })
  metrics.gauge({
    name: 'weir_share_remembered_buckets',
    help: 'Buckets whose last state is known, for an outage to begin with',
    labels: [],
    read: sample(({ rememberedBuckets }) => rememberedBuckets),
  })
  metrics.gauge({
    name: 'weir_share_open_accounts',
    help: 'Buckets of which the store is still owed what was admitted without it',
    labels: [],
    read: sample(({ openAccounts }) => openAccounts),
  })
  metrics.counter({
    name: 'weir_share_evicted_accounts_total',
    help: 'Buckets that were forgotten before the store was charged',
    labels: [],
    read: sample(({ evictedAccounts }) => evictedAccounts),
  })
  metrics.counter({
    name: 'weir_share_tokens_total',
    help: 'Tokens admitted without the store: charged to it later, or lost because nobody knows whether they were',
    labels: ['result'],
    read: () => {
      const { chargedNano, lostNano } = read()
      return [
        { labels: { result: 'charged' }, value: chargedNano / NANO },
        { labels: { result: 'lost' }, value: lostNano / NANO },
      ]
    },
  })
}

/** Declares what the limiter publishes of what it remembers of its store's buckets, to find lost writes by. */
export const publishWitnesses = (metrics: Metrics, read: () => Witnesses | undefined) => {
  const sample = (value: (witnesses: Witnesses) => number) => () => {
    const witnesses = read()
    return witnesses === undefined ? [] : [{ labels: {}, value: value(witnesses) }]
  }
  const counter = (name: `weir_witness_${string}_total`, help: string, value: (witnesses: Witnesses) => number) =>
    metrics.counter({ name, help, labels: [], read: sample(value) })
  metrics.gauge({
    name: 'weir_witness_buckets',
    help: 'Buckets that are not full, as this limiter last saw them',
    labels: [],
    read: sample(({ buckets }) => buckets),
  })
  counter('weir_witness_losses_total', 'Buckets of which the store had forgotten something', ({ losses }) => losses)
  counter('weir_witness_vetoes_total', 'Grants of the store that were taken back for it', ({ vetoes }) => vetoes)
  counter('weir_witness_taught_total', 'Buckets that the store was told again', ({ taught }) => taught)
  counter(
    'weir_witness_local_refusals_total',
    'Takes that were refused without the store, because their bucket was known to be empty',
    ({ localRefusals }) => localRefusals,
  )
}

/** Declares what the limiter publishes of outages of its store; the function returned is told how many shards are given up now. */
export const publishOutages = (metrics: Metrics, monotonicUs: () => number) => {
  let shards = 0
  let sinceUs = 0
  let degradedUs = 0
  const untilNowUs = () => degradedUs + (shards > 0 ? monotonicUs() - sinceUs : 0)
  metrics.gauge({
    name: 'weir_store_shards_given_up',
    help: 'Shards of the store that this limiter does not wait for, because they do not answer: their breakers are open',
    labels: [],
    read: () => [{ labels: {}, value: shards }],
  })
  metrics.counter({
    name: 'weir_degraded_seconds_total',
    help: 'Time during which at least one shard was given up',
    labels: [],
    read: () => [{ labels: {}, value: untilNowUs() / 1_000_000 }],
  })
  return (givenUp: number) => {
    degradedUs = untilNowUs()
    shards = givenUp
    sinceUs = monotonicUs()
  }
}
