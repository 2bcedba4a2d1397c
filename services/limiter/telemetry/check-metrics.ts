import type { Decision } from '../../contract/decision.ts'
import { createDistribution, durationBoundsS } from '../../platform/distribution.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { createTally } from '../../platform/tally.ts'
import type { Observer } from '../core/observer.ts'

/** What was counted so far, for the console. */
export type CheckCounts = {
  readonly decisions: ReturnType<ReturnType<typeof createTally<'domain' | 'policy' | 'verdict' | 'basis'>>['read']>
  readonly inFlight: number
  /** Checks by how long they took, the bounds in seconds. */
  readonly durations: { readonly boundsS: readonly number[]; readonly counts: readonly number[] }
}

/** Declares what the limiter publishes of the checks that it answers; the observer returned is what it counts with. */
export const publishChecks = (
  metrics: Metrics,
  monotonicUs: () => number,
): { readonly observer: Observer; readonly read: () => CheckCounts } => {
  const decisions = createTally(['domain', 'policy', 'verdict', 'basis'])
  const shadows = createTally(['domain', 'policy', 'verdict'])
  const uncountable = createTally(['domain', 'policy'])
  const duration = createDistribution(durationBoundsS)
  let inFlight = 0

  metrics.counter({
    name: 'weir_decisions_total',
    help: 'Checks answered, by the policy that decided (empty where none did)',
    labels: decisions.labels,
    read: decisions.read,
  })
  metrics.counter({
    name: 'weir_shadow_verdicts_total',
    help: 'What policies in shadow would have said',
    labels: shadows.labels,
    read: shadows.read,
  })
  metrics.counter({
    name: 'weir_uncountable_checks_total',
    help: 'Checks that a policy did not apply to because they lack an attribute that it counts by',
    labels: uncountable.labels,
    read: uncountable.read,
  })
  metrics.histogram({
    name: 'weir_check_duration_seconds',
    help: 'Time from a decoded check to its decision',
    labels: [],
    bounds: durationBoundsS,
    read: () => [{ labels: {}, distribution: duration.read() }],
  })
  metrics.gauge({
    name: 'weir_checks_in_flight',
    help: 'Checks that have no decision yet',
    labels: [],
    read: () => [{ labels: {}, value: inFlight }],
  })

  const observer: Observer = {
    asked: () => {
      inFlight += 1
      return monotonicUs()
    },
    answered: ({ domain }, answer, askedUs) => {
      inFlight -= 1
      if (answer === undefined) return
      duration.record((monotonicUs() - askedUs) / 1_000_000)
      const { decision } = answer
      decisions.add(domain, policyOf(decision), decision.verdict, decision.basis)
      for (const { policy, verdict } of answer.shadows) shadows.add(domain, policy, verdict)
    },
    uncountable: (domain, { name }) => uncountable.add(domain, name),
  }
  const read = () => ({
    decisions: decisions.read(),
    inFlight,
    durations: { boundsS: durationBoundsS, counts: duration.read().counts },
  })
  return { observer, read }
}

const policyOf = (decision: Decision) => ('policy' in decision ? decision.policy : '')
