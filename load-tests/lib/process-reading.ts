/** What a process publishes at `/metrics`. */
export type MetricsPage = { readonly name: string; readonly text: string }

/** Decisions that no shared bucket made: a limiter's share or its answer without a store, a gate's own when no limiter answered. */
export type LocalDecisions = { readonly share: number; readonly storeless: number; readonly fallback: number }

export const localKinds = ['share', 'storeless', 'fallback'] as const satisfies readonly (keyof LocalDecisions)[]

export type ProcessReading = {
  readonly name: string
  readonly kind: 'limiter' | 'api'
  readonly decisions: number
  readonly local: LocalDecisions
  /** Of an API: the limiters that it may ask, and how many of them would not answer now. */
  readonly limiters: { readonly known: number; readonly unready: number }
  readonly cpuS: number
  readonly residentBytes: number
  readonly heapBytes: number
}

type Sample = { readonly metric: string; readonly labels: string; readonly value: number }

export const readingOf = ({ name, text }: MetricsPage): ProcessReading => {
  const samples = parseSamples(text)
  const sum = (metric: string, label = '') =>
    samples
      .filter((sample) => sample.metric === metric && sample.labels.includes(label))
      .reduce((total, { value }) => total + value, 0)
  const gate = 'weir_api_gate_duration_seconds_count'
  return {
    name,
    kind: samples.some(({ metric }) => metric === gate || metric.startsWith('weir_api_')) ? 'api' : 'limiter',
    decisions: sum('weir_decisions_total'),
    local: {
      share: sum('weir_decisions_total', 'basis="share"'),
      storeless: sum('weir_decisions_total', 'basis="store_unavailable"'),
      fallback: sum(gate, 'source="fallback"'),
    },
    limiters: {
      known: sum('weir_api_limiter_replicas'),
      unready: sum('weir_api_limiter_replicas') - sum('weir_api_limiter_replicas', 'state="ready"'),
    },
    cpuS: sum('process_cpu_seconds_total'),
    residentBytes: sum('process_resident_memory_bytes'),
    heapBytes: sum('nodejs_heap_size_used_bytes'),
  }
}

/** The text format of Prometheus, as far as our processes write it. */
const parseSamples = (text: string): readonly Sample[] =>
  text.split('\n').flatMap((line) => {
    const [, metric, labels = '', value] = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/.exec(line) ?? []
    return metric === undefined ? [] : [{ metric, labels, value: Number(value) }]
  })
