/** The figures of a run by the name of the metric, however k6 hands them over. A metric that was never added to is absent. */
export type Figures = Readonly<Record<string, Readonly<Record<string, number>>>>

export const countOf = (figures: Figures, metric: string) => figures[metric]?.['count'] ?? 0

/** How long answers took; empty where nothing was answered. */
export const describeTimes = (figures: Figures): string => {
  const { med, 'p(95)': p95, 'p(99)': p99, max } = figures['answer_ms'] ?? {}
  if (med === undefined || p95 === undefined || p99 === undefined || max === undefined) return ''
  return `answered after ${[med, p95, p99, max].map((ms) => ms.toFixed(0)).join(' / ')} ms (median, p95, p99, longest)`
}

/** As `handleSummary` gets them. */
export type SummaryData = {
  readonly metrics: Readonly<Record<string, SummaryMetric>>
  readonly setup_data?: unknown
  readonly state: { readonly testRunDurationMs: number }
}
export type SummaryMetric = {
  readonly values: Readonly<Record<string, number>>
  readonly thresholds?: Readonly<Record<string, { readonly ok: boolean }>>
}

export const figuresOfSummary = ({ metrics }: SummaryData): Figures =>
  Object.fromEntries(Object.entries(metrics).map(([name, { values }]) => [name, values]))

/** As k6's own REST interface answers `/v1/metrics` while the run is not over. */
export type RestMetrics = {
  readonly data: readonly {
    readonly id: string
    readonly attributes: { readonly sample: Readonly<Record<string, number>> }
  }[]
}

export const figuresOfRest = ({ data }: RestMetrics): Figures =>
  Object.fromEntries(data.map(({ id, attributes }) => [id, attributes.sample]))
