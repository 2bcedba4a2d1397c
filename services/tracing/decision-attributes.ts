import type { Decision } from '../contract/decision.ts'
import type { SpanAttributes } from './tracing.ts'

/** A decision as a span tells it: nothing that a client wrote. */
export const decisionAttributes = (decision: Decision): SpanAttributes => ({
  'weir.verdict': decision.verdict,
  'weir.basis': decision.basis,
  ...('policy' in decision && { 'weir.policy': decision.policy }),
  ...('quota' in decision && {
    'weir.quota.limit': decision.quota.limit,
    'weir.quota.remaining': decision.quota.remaining,
  }),
  ...('retryAfterMs' in decision && { 'weir.retry_after_ms': decision.retryAfterMs }),
})
