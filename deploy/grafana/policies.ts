// biome-ignore lint/suspicious/noDeprecatedImports: the schema that every Grafana provisions; version 2 is Grafana 12's and later
import { DashboardBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import { datasourceVariable, labelVariable, stat, timeseries } from './panels.ts'

const SELECTED = 'domain=~"$domain",policy=~"$policy"'

/** For whoever owns the limits: who uses how much of them, who is refused, what would a rehearsed policy do? */
export const policies = new DashboardBuilder('Weir policies')
  .uid('weir-policies')
  .description(
    'Each policy: use against the configured limit, refusals, rehearsals. Whom a policy refuses most: /top on the admin port of a limiter',
  )
  .tags(['weir'])
  .refresh('15s')
  .time({ from: 'now-1h', to: 'now' })
  .withVariable(datasourceVariable)
  .withVariable(labelVariable('domain', 'weir_policy_capacity_tokens'))
  .withVariable(labelVariable('policy', 'weir_policy_capacity_tokens'))
  .withPanel(
    stat({
      title: 'Policies',
      description: 'That count, in the selected domains',
      unit: 'short',
      queries: [{ expr: `count(max by (domain, policy) (weir_policy_capacity_tokens{${SELECTED}}))`, legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Admitted',
      description: 'Checks that the selected policies decided',
      unit: 'reqps',
      queries: [{ expr: `sum(rate(weir_decisions_total{${SELECTED},verdict="allow"}[$__rate_interval]))`, legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Refused',
      description: 'Checks that the selected policies refused',
      unit: 'reqps',
      queries: [{ expr: `sum(rate(weir_decisions_total{${SELECTED},verdict="deny"}[$__rate_interval]))`, legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Limited by no policy',
      description: 'Checks that no policy matched: is a plan missing in the file?',
      unit: 'reqps',
      queries: [
        {
          expr: 'sum(rate(weir_decisions_total{domain=~"$domain",basis="no_policy"}[$__rate_interval]))',
          legend: '',
        },
      ],
    }),
  )
  .withPanel(
    stat({
      title: 'Policies loaded',
      description: 'Age of the oldest policies in force on any limiter',
      unit: 's',
      queries: [{ expr: 'time() - min(weir_policy_loaded_timestamp_seconds)', legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Reloads rejected',
      description: 'In the last hour',
      unit: 'short',
      queries: [{ expr: 'sum(increase(weir_policy_reloads_total{result="rejected"}[1h]))', legend: '' }],
    }),
  )
  .withRow(new RowBuilder('Use and refusals'))
  .withPanel(
    timeseries({
      title: 'Admitted by policy',
      description: 'Checks that each policy decided and admitted',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (policy) (rate(weir_decisions_total{${SELECTED},verdict="allow"}[$__rate_interval]))`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Refused by policy',
      description: 'Whom: /top on the admin port of a limiter',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (policy) (rate(weir_decisions_total{${SELECTED},verdict="deny"}[$__rate_interval]))`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Part refused',
      description: 'Of the checks that each policy decided',
      unit: 'percentunit',
      queries: [
        {
          expr: `sum by (policy) (weir:decisions:rate5m{${SELECTED},verdict="deny"}) / sum by (policy) (weir:decisions:rate5m{${SELECTED}})`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Buckets’ worth admitted',
      description:
        'What each policy admits a second, in refills of one bucket: 3 is as much as three clients may use in the long run',
      unit: 'short',
      queries: [
        {
          expr: `sum by (domain, policy) (rate(weir_decisions_total{${SELECTED},verdict="allow"}[$__rate_interval])) / max by (domain, policy) (weir_policy_refill_tokens_per_second{${SELECTED}})`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Configured capacity and refill',
      description: 'Without overrides',
      unit: 'short',
      queries: [
        { expr: `max by (policy) (weir_policy_capacity_tokens{${SELECTED}})`, legend: '{{policy}} capacity' },
        {
          expr: `max by (policy) (weir_policy_refill_tokens_per_second{${SELECTED}})`,
          legend: '{{policy}} refill a second',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Rehearsals: would be refused',
      description: 'By policies in shadow, which refuse nobody',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (policy) (rate(weir_shadow_verdicts_total{${SELECTED},verdict="deny"}[$__rate_interval]))`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Checks without an attribute that a policy counts by',
      description: 'The policy does not apply to them',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (policy) (rate(weir_uncountable_checks_total{${SELECTED}}[$__rate_interval]))`,
          legend: '{{policy}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Answered without the store',
      description: 'By policy and what it says then',
      unit: 'reqps',
      queries: [
        {
          expr: `sum by (policy, verdict, basis) (rate(weir_decisions_total{${SELECTED},basis=~"share|store_unavailable"}[$__rate_interval]))`,
          legend: '{{policy}} {{verdict}} {{basis}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Policies accepted, by limiter',
      description: 'Rises with each change of the file that was accepted',
      unit: 'short',
      queries: [{ expr: 'weir_policy_generation', legend: '{{instance}}' }],
    }),
  )
