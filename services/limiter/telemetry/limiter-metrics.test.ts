import { expect, test } from 'vitest'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { createMetrics, type Metrics } from '../../platform/metrics.ts'
import type { CountingPolicy, PolicySets } from '../core/policy.ts'
import { publishChecks } from './check-metrics.ts'
import { publishMemoryStore } from './memory-store-metrics.ts'
import { publishPolicies } from './policy-metrics.ts'
import { publishOutages, publishSharedStore, publishWitnesses } from './shared-store-metrics.ts'
import { publishStoreCalls } from './store-metrics.ts'

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
const check = { domain, attributes: new Map([['client', 'user:secret']]), cost: 1 }

const published = async (metrics: Metrics) => {
  const { body } = await metrics.page()
  return body.split('\n').filter((line) => line.startsWith('weir_'))
}

test('answers are counted by policy, verdict and basis, and never by client', async () => {
  const metrics = createMetrics()
  const { observer } = publishChecks(metrics, () => 0)
  const shadows = [{ policy: policyName('rehearsed'), verdict: 'deny' }] as const
  observer.answered(check, { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] }, observer.asked())
  for (let index = 0; index < 3; index += 1)
    observer.answered(
      check,
      { decision: { verdict: 'deny', basis: 'never_satisfiable', policy: policy.name }, shadows },
      observer.asked(),
    )
  observer.uncountable(domain, policy)

  const lines = await published(metrics)
  expect(lines).toEqual(
    expect.arrayContaining([
      'weir_decisions_total{domain="api",policy="",verdict="allow",basis="no_policy"} 1',
      'weir_decisions_total{domain="api",policy="per-client",verdict="deny",basis="never_satisfiable"} 3',
      'weir_shadow_verdicts_total{domain="api",policy="rehearsed",verdict="deny"} 3',
      'weir_uncountable_checks_total{domain="api",policy="per-client"} 1',
    ]),
  )
  expect(lines.join()).not.toContain('secret')
})

test('checks in flight and how long they took are seen, also of one that a bug ended', async () => {
  const metrics = createMetrics()
  let nowUs = 0
  const { observer } = publishChecks(metrics, () => nowUs)
  const [first, second] = [observer.asked(), observer.asked()]
  observer.asked()
  nowUs = 700
  observer.answered(check, { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] }, first)
  observer.answered(check, undefined, second)
  expect(await published(metrics)).toEqual(
    expect.arrayContaining([
      'weir_checks_in_flight 1',
      'weir_check_duration_seconds_bucket{le="0.0005"} 0',
      'weir_check_duration_seconds_bucket{le="0.001"} 1',
      'weir_check_duration_seconds_bucket{le="+Inf"} 1',
      'weir_check_duration_seconds_sum 0.0007',
      'weir_check_duration_seconds_count 1',
    ]),
  )
})

test('the policies in force are seen with their numbers, and a rejected reload', async () => {
  const metrics = createMetrics()
  publishPolicies(metrics, {
    current: () => sets,
    status: () => ({
      generation: 3,
      digest: '0000000000ff1234',
      loadedAtUs: 1_500_000,
      lastReload: 'rejected',
      rejectedReloads: 4,
    }),
  })
  expect((await published(metrics)).toSorted()).toEqual(
    [
      'weir_policy_capacity_tokens{domain="api",policy="per-client"} 60',
      'weir_policy_refill_tokens_per_second{domain="api",policy="per-client"} 2.5',
      'weir_policy_generation 3',
      'weir_policy_fingerprint 255',
      'weir_policy_loaded_timestamp_seconds 1.5',
      'weir_policy_reload_rejected 1',
      'weir_policy_reloads_total{result="accepted"} 2',
      'weir_policy_reloads_total{result="rejected"} 4',
    ].toSorted(),
  )
})

test('calls of the store are seen with their size, what was merged, and whether they answered', async () => {
  const metrics = createMetrics()
  const called = publishStoreCalls(metrics)
  called({ takes: 10, operations: 3, elapsedUs: 400, ok: true, dropped: 4 })
  called({ takes: 1, operations: 1, elapsedUs: 15_000, ok: false, dropped: 0 })
  expect(await published(metrics)).toEqual(
    expect.arrayContaining([
      'weir_store_duration_seconds_bucket{result="answered",le="0.0005"} 1',
      'weir_store_duration_seconds_count{result="failed"} 1',
      'weir_store_batch_operations_bucket{le="1"} 1',
      'weir_store_batch_operations_bucket{le="4"} 2',
      'weir_store_batch_operations_sum 4',
      'weir_store_takes_total 11',
      'weir_store_merged_takes_total 7',
      'weir_store_dropped_buckets_total 4',
    ]),
  )
})

test('the memory store tells how much it holds and what it forgot', async () => {
  const metrics = createMetrics()
  publishMemoryStore(metrics, () => ({ groups: 7, evictedGroups: 2, evictedBuckets: 1 }))
  expect(await published(metrics)).toEqual([
    'weir_memory_store_subjects 7',
    'weir_memory_store_evictions_total{kind="subject"} 2',
    'weir_memory_store_evictions_total{kind="bucket"} 1',
  ])
})

test('what was admitted without the store is seen, and how long it was away', async () => {
  const metrics = createMetrics()
  let nowUs = 0
  const givenUp = publishOutages(metrics, () => nowUs)
  publishSharedStore(metrics, () => ({
    limiters: 3,
    rememberedBuckets: 5,
    openAccounts: 2,
    evictedAccounts: 1,
    chargedNano: 1_500_000_000,
    lostNano: 500_000_000,
  }))
  givenUp(1)
  nowUs = 2_000_000
  givenUp(64)
  nowUs = 3_000_000
  expect(await published(metrics)).toEqual([
    'weir_store_shards_given_up 64',
    'weir_degraded_seconds_total 3',
    'weir_store_limiters 3',
    'weir_share_remembered_buckets 5',
    'weir_share_open_accounts 2',
    'weir_share_evicted_accounts_total 1',
    'weir_share_tokens_total{result="charged"} 1.5',
    'weir_share_tokens_total{result="lost"} 0.5',
  ])
  givenUp(0)
  nowUs = 9_000_000
  expect(await published(metrics)).toContain('weir_degraded_seconds_total 3')
})

test('what a limiter remembers of its store is seen, with what it found lost and made good', async () => {
  const metrics = createMetrics()
  publishWitnesses(metrics, () => ({ buckets: 9, losses: 4, vetoes: 3, taught: 2, localRefusals: 1 }))
  expect(await published(metrics)).toEqual([
    'weir_witness_buckets 9',
    'weir_witness_losses_total 4',
    'weir_witness_vetoes_total 3',
    'weir_witness_taught_total 2',
    'weir_witness_local_refusals_total 1',
  ])
})
