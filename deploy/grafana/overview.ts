// biome-ignore lint/suspicious/noDeprecatedImports: the schema that every Grafana provisions; version 2 is Grafana 12's and later
import { DashboardBuilder, RowBuilder } from '@grafana/grafana-foundation-sdk/dashboard'
import { datasourceVariable, labelVariable, stat, timeseries } from './panels.ts'

const quantiles = (histogram: string, by = 'le') =>
  [0.5, 0.99].map((quantile) => ({
    expr: `histogram_quantile(${quantile}, sum by (${by}) (rate(${histogram}_bucket[$__rate_interval])))`,
    legend: `p${quantile * 100}`,
  }))

/** For whoever is called at night: is it answering, is it right, is it full, is something away? */
export const overview = new DashboardBuilder('Weir overview')
  .uid('weir-overview')
  .description('Traffic, refusals, latency, saturation and faults of limiters and API')
  .tags(['weir'])
  .refresh('15s')
  .time({ from: 'now-1h', to: 'now' })
  .withVariable(datasourceVariable)
  .withVariable(labelVariable('instance', 'weir_checks_in_flight'))
  .withPanel(
    stat({
      title: 'Checks',
      description: 'Checks answered by all limiters',
      unit: 'reqps',
      queries: [{ expr: 'sum(rate(weir_decisions_total[$__rate_interval]))', legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Refused',
      description: 'Part of all checks',
      unit: 'percentunit',
      queries: [
        {
          expr: 'sum(rate(weir_decisions_total{verdict="deny"}[$__rate_interval])) / sum(rate(weir_decisions_total[$__rate_interval]))',
          legend: '',
        },
      ],
    }),
  )
  .withPanel(
    stat({
      title: 'Slower than 25 ms',
      description: 'Part of all checks in the last hour; the goal is 0.1 %',
      unit: 'percentunit',
      queries: [{ expr: 'weir:checks_slow:ratio1h', legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Without the store',
      description: 'Part of all counted checks in the last hour; the goal is 0.1 %',
      unit: 'percentunit',
      queries: [{ expr: 'weir:checks_without_store:ratio1h', legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Violations of conservation',
      description:
        'In the last hour, by replies and by the canary. Not 0: WeirRepliesDoNotConserve, WeirCanaryOverdrawn in the runbook',
      unit: 'short',
      queries: [{ expr: 'sum(increase(weir_conservation_violations_total[1h]))', legend: '' }],
    }),
  )
  .withPanel(
    stat({
      title: 'Limiters',
      description: 'Seen by Prometheus',
      unit: 'short',
      queries: [{ expr: 'count(weir_policy_generation)', legend: '' }],
    }),
  )
  .withRow(new RowBuilder('Traffic and refusals'))
  .withPanel(
    timeseries({
      title: 'Decisions by what they were based on',
      description: 'share and store_unavailable were decided without the store; no_policy limits nobody',
      unit: 'reqps',
      queries: [
        {
          expr: 'sum by (verdict, basis) (rate(weir_decisions_total{instance=~"$instance"}[$__rate_interval]))',
          legend: '{{verdict}} {{basis}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Decisions by limiter',
      description: 'Uneven for long: clients do not find all limiters',
      unit: 'reqps',
      queries: [
        {
          expr: 'sum by (instance) (rate(weir_check_duration_seconds_count{instance=~"$instance"}[$__rate_interval]))',
          legend: '{{instance}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'API answers by status',
      description: '429: refused by a policy; 503: nobody could count',
      unit: 'reqps',
      queries: [
        {
          expr: 'sum by (status) (rate(weir_api_request_duration_seconds_count[$__rate_interval]))',
          legend: '{{status}}',
        },
      ],
    }),
  )
  .withRow(new RowBuilder('Latency'))
  .withPanel(
    timeseries({
      title: 'Check, in the limiter',
      description: 'From a decoded check to its decision',
      unit: 's',
      queries: quantiles('weir_check_duration_seconds'),
    }),
  )
  .withPanel(
    timeseries({
      title: 'Store',
      description: 'One call of the script, with all attempts',
      unit: 's',
      queries: quantiles('weir_store_duration_seconds'),
    }),
  )
  .withPanel(
    timeseries({
      title: 'Gate, in the API',
      description: 'What asking adds to a request: network, queueing and limiter',
      unit: 's',
      queries: quantiles('weir_api_gate_duration_seconds'),
    }),
  )
  .withRow(new RowBuilder('Saturation'))
  .withPanel(
    timeseries({
      title: 'Event-loop lag, p99',
      description: 'Above 0.1 s for long: WeirLimiterSaturated in the runbook',
      unit: 's',
      queries: [
        {
          expr: 'nodejs_eventloop_lag_p99_seconds and on (instance) weir_checks_in_flight{instance=~"$instance"}',
          legend: '{{instance}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Processor',
      description: 'Cores used; a limiter uses one at most',
      unit: 'short',
      queries: [
        {
          expr: 'rate(process_cpu_seconds_total[$__rate_interval]) and on (instance) weir_checks_in_flight{instance=~"$instance"}',
          legend: '{{instance}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Memory and checks in flight',
      description: 'Resident memory of limiters; flat when all is well',
      unit: 'bytes',
      queries: [
        {
          expr: 'process_resident_memory_bytes and on (instance) weir_checks_in_flight{instance=~"$instance"}',
          legend: '{{instance}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Operations in one call of the store',
      description: 'Mean: batches grow under load by themselves',
      unit: 'short',
      queries: [
        {
          expr: 'sum(rate(weir_store_batch_operations_sum[$__rate_interval])) / sum(rate(weir_store_batch_operations_count[$__rate_interval]))',
          legend: 'operations',
        },
        {
          expr: 'sum(rate(weir_store_takes_total[$__rate_interval])) / sum(rate(weir_store_batch_operations_sum[$__rate_interval]))',
          legend: 'takes in an operation',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Merged takes',
      description: 'Part of the takes that travelled with an equal one: hot keys',
      unit: 'percentunit',
      queries: [
        {
          expr: 'sum(rate(weir_store_merged_takes_total[$__rate_interval])) / sum(rate(weir_store_takes_total[$__rate_interval]))',
          legend: 'merged',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Checks in flight',
      description: 'That have no decision yet',
      unit: 'short',
      queries: [{ expr: 'weir_checks_in_flight{instance=~"$instance"}', legend: '{{instance}}' }],
    }),
  )
  .withRow(new RowBuilder('Faults'))
  .withPanel(
    timeseries({
      title: 'Store calls that failed',
      description: 'WeirStoreFailing in the runbook',
      unit: 'reqps',
      queries: [
        {
          expr: 'sum by (instance) (rate(weir_store_duration_seconds_count{result="failed"}[$__rate_interval]))',
          legend: '{{instance}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Shards given up',
      description: 'Of 64: their breakers are open (WeirDegraded)',
      unit: 'short',
      queries: [{ expr: 'weir_store_shards_given_up{instance=~"$instance"}', legend: '{{instance}}' }],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Admitted without the store',
      description: 'Tokens charged to the store afterwards, and lost to it',
      unit: 'short',
      queries: [
        { expr: 'sum by (result) (rate(weir_share_tokens_total[$__rate_interval]))', legend: '{{result}}' },
        { expr: 'sum(rate(weir_degraded_seconds_total[$__rate_interval]))', legend: 'limiters degraded' },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Decided by the API alone',
      description: 'By why: WeirApiDecidesAlone in the runbook',
      unit: 'reqps',
      queries: [
        { expr: 'sum by (reason) (rate(weir_api_fallback_decisions_total[$__rate_interval]))', legend: '{{reason}}' },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Violations of conservation, by check',
      description: 'By what found them',
      unit: 'short',
      queries: [
        {
          expr: 'sum by (check) (increase(weir_conservation_violations_total[$__rate_interval]))',
          legend: '{{check}}',
        },
      ],
    }),
  )
  .withPanel(
    timeseries({
      title: 'Policies in force',
      description:
        'Different policies on limiters, and rejected reloads (WeirPoliciesDiffer, WeirPolicyReloadRejected)',
      unit: 'short',
      queries: [
        { expr: 'count(count_values("fingerprint", weir_policy_fingerprint))', legend: 'sets of policies' },
        { expr: 'sum(weir_policy_reload_rejected)', legend: 'limiters that reject the file' },
      ],
    }),
  )
