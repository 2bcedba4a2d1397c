import type { DomainName } from '../../contract/check.ts'
import type { Decision } from '../../contract/decision.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { Observer } from '../core/limiter.ts'
import type { MemoryStoreStats } from '../core/memory-store.ts'
import type { PolicySets } from '../core/policy.ts'
import { createTally } from './tally.ts'

type Sources = {
  readonly policies: {
    readonly current: () => PolicySets
    readonly status: () => { readonly generation: number; readonly lastReload: 'accepted' | 'rejected' }
  }
  /** Of the memory store, where that is the store. */
  readonly memoryStats: (() => MemoryStoreStats) | undefined
}

/** Declares what the limiter publishes; the observer returned is what it counts with. */
export const publishLimiterMetrics = (metrics: Metrics, { policies, memoryStats }: Sources): Observer => {
  const decisions = createTally(['domain', 'policy', 'verdict', 'basis'])
  const shadows = createTally(['domain', 'policy', 'verdict'])
  const uncountable = createTally(['domain', 'policy'])

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
  metrics.gauge({
    name: 'weir_policy_capacity_tokens',
    help: 'Configured capacity, without overrides',
    labels: ['domain', 'policy'],
    read: () => rules(policies.current()).map(({ labels, rule }) => ({ labels, value: rule.capacityTokens })),
  })
  metrics.gauge({
    name: 'weir_policy_refill_tokens_per_second',
    help: 'Configured refill, without overrides',
    labels: ['domain', 'policy'],
    read: () =>
      rules(policies.current()).map(({ labels, rule }) => ({ labels, value: rule.refillTokens / rule.periodS })),
  })
  metrics.gauge({
    name: 'weir_policy_generation',
    help: 'How many times this process accepted policies, the start included',
    labels: [],
    read: () => [{ labels: {}, value: policies.status().generation }],
  })
  metrics.gauge({
    name: 'weir_policy_reload_rejected',
    help: '1 while the policy files have a mistake and the last good policies are in force',
    labels: [],
    read: () => [{ labels: {}, value: policies.status().lastReload === 'rejected' ? 1 : 0 }],
  })
  if (memoryStats !== undefined) publishMemoryStore(metrics, memoryStats)

  return {
    answered: (domain, { decision, shadows: verdicts }) => {
      decisions.add(domain, policyOf(decision), decision.verdict, decision.basis)
      for (const { policy, verdict } of verdicts) shadows.add(domain, policy, verdict)
    },
    uncountable: (domain, { name }) => uncountable.add(domain, name),
  }
}

const publishMemoryStore = (metrics: Metrics, stats: () => MemoryStoreStats) => {
  metrics.gauge({
    name: 'weir_memory_store_subjects',
    help: 'Subjects with a bucket that is not full, in the memory store',
    labels: [],
    read: () => [{ labels: {}, value: stats().groups }],
  })
  metrics.counter({
    name: 'weir_memory_store_evictions_total',
    help: 'Subjects and buckets forgotten before they were full, because the memory store was',
    labels: ['kind'],
    read: () => [
      { labels: { kind: 'subject' }, value: stats().evictedGroups },
      { labels: { kind: 'bucket' }, value: stats().evictedBuckets },
    ],
  })
}

const policyOf = (decision: Decision) => ('policy' in decision ? decision.policy : '')

const rules = (sets: PolicySets) =>
  [...sets.values()].flatMap(({ domain, policies }) =>
    policies.flatMap((policy) =>
      policy.kind === 'counting' ? [{ labels: labelsOf(domain, policy.name), rule: policy.rule }] : [],
    ),
  )

const labelsOf = (domain: DomainName, policy: string) => ({ domain, policy })
