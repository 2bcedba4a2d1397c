import type { Metrics } from '../../platform/metrics.ts'
import { createTally } from '../../platform/tally.ts'
import type { CanaryRound } from './canary.ts'

/** What a check of conservation may find: in a reply of the store that more was granted or a write was lost, or by the canary. */
type Violation = 'granted' | 'lost' | 'canary'

const checks: readonly Violation[] = ['granted', 'lost', 'canary']

/** Declares what the limiter publishes of whether the store counts right; returns what it is told with. */
export const publishConservation = (metrics: Metrics) => {
  const violations = createTally(['check'])
  for (const check of checks) violations.declare(check)
  let canaryRounds = 0
  let canaryTokens = 0

  metrics.counter({
    name: 'weir_conservation_violations_total',
    help: 'Times that the store was found to count wrong: a reply with more granted than deficit and refill account for (granted), a write of this limiter that is gone (lost), a canary bucket that gave more than it held (canary)',
    labels: violations.labels,
    read: violations.read,
  })
  metrics.counter({
    name: 'weir_canary_rounds_total',
    help: 'Canary buckets that this limiter took part in draining, one a minute',
    labels: [],
    read: () => [{ labels: {}, value: canaryRounds }],
  })
  metrics.counter({
    name: 'weir_canary_granted_tokens_total',
    help: 'Tokens of canary buckets that this limiter was granted',
    labels: [],
    read: () => [{ labels: {}, value: canaryTokens }],
  })

  return {
    violated: (violation: Exclude<Violation, 'canary'>) => violations.add(violation),
    canary: ({ grantedTokens, overdrawn }: CanaryRound) => {
      canaryRounds += 1
      canaryTokens += grantedTokens
      if (overdrawn) violations.add('canary')
    },
    /** Of all kinds, so far. */
    violations: () => violations.read().reduce((sum, { value }) => sum + value, 0),
  }
}
