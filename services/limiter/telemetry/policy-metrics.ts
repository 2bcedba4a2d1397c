import type { Metrics } from '../../platform/metrics.ts'
import type { PolicySets } from '../core/policy.ts'

type LivePolicies = {
  readonly current: () => PolicySets
  readonly status: () => {
    readonly generation: number
    readonly digest: string
    readonly loadedAtUs: number
    readonly lastReload: 'accepted' | 'rejected'
    readonly rejectedReloads: number
  }
}

/** A double holds so many bits of the digest exactly. */
const DIGEST_HEX_DIGITS = 12

/** Declares what the limiter publishes of the policies in force. */
export const publishPolicies = (metrics: Metrics, policies: LivePolicies) => {
  const { status } = policies
  const gauge = (name: `weir_policy_${string}`, help: string, value: () => number) =>
    metrics.gauge({ name, help, labels: [], read: () => [{ labels: {}, value: value() }] })

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
  gauge(
    'weir_policy_generation',
    'How many times this process accepted policies, the start included',
    () => status().generation,
  )
  gauge(
    'weir_policy_fingerprint',
    'Of the policy files in force, as a number: the same wherever the same policies are',
    () => Number.parseInt(status().digest.slice(0, DIGEST_HEX_DIGITS), 16),
  )
  gauge(
    'weir_policy_loaded_timestamp_seconds',
    'When the policies in force were accepted, as Unix time',
    () => status().loadedAtUs / 1_000_000,
  )
  gauge(
    'weir_policy_reload_rejected',
    '1 while the policy files have a mistake and the last good policies are in force',
    () => (status().lastReload === 'rejected' ? 1 : 0),
  )
  metrics.counter({
    name: 'weir_policy_reloads_total',
    help: 'Changes of the policy files that this process took or refused, the start not included',
    labels: ['result'],
    read: () => [
      { labels: { result: 'accepted' }, value: status().generation - 1 },
      { labels: { result: 'rejected' }, value: status().rejectedReloads },
    ],
  })
}

const rules = (sets: PolicySets) =>
  [...sets.values()].flatMap(({ domain, policies }) =>
    policies.flatMap((policy) =>
      policy.kind === 'counting' ? [{ labels: { domain, policy: policy.name }, rule: policy.rule }] : [],
    ),
  )
