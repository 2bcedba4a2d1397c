import type { Metrics } from '../../platform/metrics.ts'
import type { Comparison } from './comparison.ts'

type Candidate = { readonly lastReload: 'accepted' | 'rejected' }

/** Declares what a limiter publishes that rehearses candidate policies. */
export const publishRehearsal = (metrics: Metrics, comparison: Comparison, status: () => Candidate) => {
  metrics.counter({
    name: 'weir_rehearsed_requests_total',
    help: 'Requests by how the candidate policies would have decided otherwise',
    labels: ['result'],
    read: () => comparison.totals().map(({ result, value }) => ({ labels: { result }, value })),
  })
  metrics.gauge({
    name: 'weir_candidate_reload_rejected',
    help: '1 while the candidate policy files have a mistake; what was accepted before is rehearsed on',
    labels: [],
    read: () => [{ labels: {}, value: status().lastReload === 'rejected' ? 1 : 0 }],
  })
}
