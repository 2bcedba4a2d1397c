import { Counter, collectDefaultMetrics, Gauge, type Histogram, Registry } from 'prom-client'
import type { AdminPage } from './admin-server.ts'
import type { DistributionReading } from './distribution.ts'

/**
 * A metric whose values live with whoever counts them and are read when Prometheus asks: counting itself touches no library.
 * Labels come from configuration and code, never from a client.
 */
type Metric<Label extends string, Reading> = {
  readonly name: `weir_${string}`
  readonly help: string
  readonly labels: readonly Label[]
  readonly read: () => Iterable<{ readonly labels: Readonly<Record<Label, string>> } & Reading>
}

type Sampled<Label extends string> = Metric<Label, { readonly value: number }>

type Distributed<Label extends string> = Metric<Label, { readonly distribution: DistributionReading }> & {
  /** The upper bounds that the distributions were made with. */
  readonly bounds: readonly number[]
}

export type Metrics = {
  /** A number that only grows. */
  readonly counter: <Label extends string>(metric: Sampled<Label>) => void
  readonly gauge: <Label extends string>(metric: Sampled<Label>) => void
  readonly histogram: <Label extends string>(metric: Distributed<Label>) => void
  /** What `/metrics` answers. */
  readonly page: () => Promise<AdminPage>
}

/** A registry of its own, with the usual figures of a Node process. */
export const createMetrics = (): Metrics => {
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return {
    counter: ({ name, help, labels, read }) => {
      new Counter({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset()
          for (const sample of read()) this.inc(sample.labels, sample.value)
        },
      })
    },
    gauge: ({ name, help, labels, read }) => {
      new Gauge({
        name,
        help,
        labelNames: [...labels],
        registers: [registry],
        collect() {
          this.reset()
          for (const sample of read()) this.set(sample.labels, sample.value)
        },
      })
    },
    histogram: ({ name, help, bounds, read }) => {
      const get = async () => ({
        name,
        help,
        type: 'histogram',
        values: [...read()].flatMap(({ labels, distribution }) => series({ name, labels, bounds }, distribution)),
      })
      // All that the registry asks of a metric; a histogram of the library itself would count by itself.
      registry.registerMetric({ name, get } as unknown as Histogram)
    },
    page: async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() }),
  }
}

type Series = {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly bounds: readonly number[]
}

/** The lines of a histogram: of each bucket how many values are at most its bound, then their sum and their number. */
const series = ({ name, labels, bounds }: Series, { counts, sum }: DistributionReading) => {
  let count = 0
  const buckets = counts.map((inBucket, index) => {
    count += inBucket
    return { metricName: `${name}_bucket`, labels: { ...labels, le: String(bounds[index] ?? '+Inf') }, value: count }
  })
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ]
}
