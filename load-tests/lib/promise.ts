import type { SummaryMetric } from './figures.ts'
import { type Finding, finding } from './finding.ts'

/** A threshold of k6 with the reason why it is where it is. */
export type Promised = { readonly metric: string; readonly threshold: string; readonly because: string }

export const promised = (metric: string, threshold: string, because: string): Promised => ({
  metric,
  threshold,
  because,
})

/** k6's own form of them. */
export const thresholdsOf = (promises: readonly Promised[]) =>
  Object.fromEntries(
    promises.map(({ metric }) => [
      metric,
      promises.filter((other) => other.metric === metric).map(({ threshold }) => threshold),
    ]),
  )

export const findingsOfPromises = (
  promises: readonly Promised[],
  metrics: Readonly<Record<string, SummaryMetric>>,
): readonly Finding[] =>
  promises.map(({ metric, threshold, because }) => {
    const measured = metrics[metric]
    const ok = measured?.thresholds?.[threshold]?.ok ?? true
    return finding(`${metric} ${threshold}, because ${because}`, ok, describe(measured?.values ?? {}))
  })

const describe = (values: Readonly<Record<string, number>>) =>
  ['count', 'rate', 'med', 'p(95)', 'p(99)', 'max']
    .flatMap((stat) => (values[stat] === undefined ? [] : [`${stat} ${Number(values[stat].toFixed(2))}`]))
    .join(', ') || 'none'
