import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { createMetrics } from '../../platform/metrics.ts'
import type { CountingPolicy, PolicySets } from '../core/policy.ts'
import { publishLimiterMetrics } from './limiter-metrics.ts'

const domain = domainName('api')
const policy: CountingPolicy = {
  kind: 'counting',
  name: policyName('per-client'),
  conditions: [],
  by: ['client'],
  rule: { capacityTokens: 60, refillTokens: 5, periodS: 2 },
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
}
const sets: PolicySets = new Map([[domain, { domain, subject: 'client', policies: [policy] }]])

test('answers are counted by policy, verdict and basis, and never by client', async () => {
  const metrics = createMetrics()
  const observer = publishLimiterMetrics(metrics, {
    policies: { current: () => sets, status: () => ({ generation: 3, lastReload: 'rejected' }) },
    memoryStats: () => ({ groups: 7, evictedGroups: 2, evictedBuckets: 1 }),
  })
  const shadows = [{ policy: policyName('rehearsed'), verdict: 'deny' }] as const
  observer.answered(domain, { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] })
  for (let index = 0; index < 3; index += 1)
    observer.answered(domain, {
      decision: { verdict: 'deny', basis: 'never_satisfiable', policy: policy.name },
      shadows,
    })
  observer.uncountable(domain, policy)

  const { body } = await metrics.page()
  const ours = body.split('\n').filter((line) => line.startsWith('weir_'))
  expect(ours.toSorted()).toEqual(
    [
      'weir_decisions_total{domain="api",policy="",verdict="allow",basis="no_policy"} 1',
      'weir_decisions_total{domain="api",policy="per-client",verdict="deny",basis="never_satisfiable"} 3',
      'weir_shadow_verdicts_total{domain="api",policy="rehearsed",verdict="deny"} 3',
      'weir_uncountable_checks_total{domain="api",policy="per-client"} 1',
      'weir_policy_capacity_tokens{domain="api",policy="per-client"} 60',
      'weir_policy_refill_tokens_per_second{domain="api",policy="per-client"} 2.5',
      'weir_policy_generation 3',
      'weir_policy_reload_rejected 1',
      'weir_memory_store_subjects 7',
      'weir_memory_store_evictions_total{kind="subject"} 2',
      'weir_memory_store_evictions_total{kind="bucket"} 1',
    ].toSorted(),
  )
})
