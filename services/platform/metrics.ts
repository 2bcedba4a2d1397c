import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client'
import type { AdminPage } from './admin-server.ts'

/**
 * A metric whose values live with whoever counts them and are read when Prometheus asks: counting itself touches no library.
 * Labels come from configuration and code, never from a client.
 */
type Sampled<Label extends string> = {
  readonly name: `weir_${string}`
  readonly help: string
  readonly labels: readonly Label[]
  readonly read: () => Iterable<{ readonly labels: Readonly<Record<Label, string>>; readonly value: number }>
}

type Distribution<Label extends string> = {
  readonly name: `weir_${string}_seconds`
  readonly help: string
  readonly labels: readonly Label[]
  readonly bucketsS: readonly number[]
}

export type Metrics = {
  /** A number that only grows. */
  readonly counter: <Label extends string>(metric: Sampled<Label>) => void
  readonly gauge: <Label extends string>(metric: Sampled<Label>) => void
  /** Returns the function that records one duration. */
  readonly histogram: <Label extends string>(
    metric: Distribution<Label>,
  ) => (labels: Readonly<Record<Label, string>>, seconds: number) => void
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
    histogram: ({ name, help, labels, bucketsS }) => {
      const histogram = new Histogram({
        name,
        help,
        labelNames: [...labels],
        buckets: [...bucketsS],
        registers: [registry],
      })
      return (values, seconds) => histogram.observe(values, seconds)
    },
    page: async () => ({ status: 200, contentType: registry.contentType, body: await registry.metrics() }),
  }
}
