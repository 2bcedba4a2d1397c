import { expect, test } from 'vitest'
import { readingOf } from './process-reading.ts'

test('a limiter tells its decisions, and which of them no shared bucket made', () => {
  const text = `# HELP weir_decisions_total Decisions
weir_decisions_total{policy="hot",verdict="allow",basis="bucket"} 7
weir_decisions_total{policy="hot",verdict="deny",basis="share"} 2
weir_decisions_total{policy="closed",verdict="deny",basis="store_unavailable"} 1
process_cpu_seconds_total 1.5
nodejs_heap_size_used_bytes 1e7
`
  expect(readingOf({ name: 'limiter 0', text })).toMatchObject({
    kind: 'limiter',
    decisions: 10,
    local: { share: 2, storeless: 1, fallback: 0 },
    cpuS: 1.5,
    heapBytes: 1e7,
  })
})

test('an API tells what its gate decided alone', () => {
  const text = `weir_api_gate_duration_seconds_count{source="limiter",verdict="allow",basis="bucket"} 5
weir_api_gate_duration_seconds_count{source="fallback",verdict="allow",basis="share"} 3
weir_api_limiter_replicas{state="ready"} 2
weir_api_limiter_replicas{state="away"} 1
`
  expect(readingOf({ name: 'api 0', text })).toMatchObject({
    kind: 'api',
    local: { fallback: 3, share: 0 },
    limiters: { known: 3, unready: 1 },
  })
})
