/** Every expression that an operator meets: in dashboards, rules and the runbook. */
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { dashboards } from '../../deploy/grafana/dashboards.ts'
import { rulesFile } from './prometheus.fixture.ts'

export type Expression = { readonly where: string; readonly expr: string }

type Target = { readonly expr: string }
export type DashboardPanel = {
  readonly title: string
  readonly type: string
  readonly targets?: readonly (Target & { readonly legendFormat: string })[]
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number }
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
}
export type Dashboard = {
  readonly title: string
  readonly uid: string
  readonly panels: readonly DashboardPanel[]
  readonly templating: {
    readonly list: readonly {
      readonly name: string
      readonly type: string
      readonly query?: unknown
      allValue?: string
    }[]
  }
}

export const readDashboards = (): readonly Dashboard[] => [...dashboards.values()].map((text) => JSON.parse(text))

type Rule = {
  readonly record?: string
  readonly alert?: string
  readonly expr: string
  readonly annotations?: Readonly<Record<string, string>>
}

export const readRules = (): readonly Rule[] =>
  (parse(readFileSync(rulesFile, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules)

export const runbook = readFileSync(new URL('../../deploy/RUNBOOK.md', import.meta.url), 'utf8')

/** Variables as Grafana puts them in when "All" is chosen. */
export const substituted = (expr: string, { templating }: Dashboard, rateInterval = '1m') =>
  templating.list.reduce(
    (text, { name, allValue }) => text.replaceAll(new RegExp(`\\$${name}\\b`, 'g'), allValue ?? ''),
    expr.replaceAll('$__rate_interval', rateInterval),
  )

const ofDashboards = (): readonly Expression[] =>
  readDashboards().flatMap((dashboard) =>
    dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ where: `${dashboard.title} / ${title}`, expr: substituted(expr, dashboard) })),
    ),
  )

/** An alert's comparison tells whether it has data only when it answers 0 or 1 instead of leaving out what is not so. */
const ofRules = (): readonly Expression[] =>
  readRules().map(({ record, alert, expr }) => ({
    where: record ?? `alert ${alert}`,
    expr: alert === undefined ? expr : expr.replaceAll(/ (>|<|==) /g, ' $1 bool '),
  }))

/** What the runbook shows as code and begins as an expression does. */
const ofRunbook = (): readonly Expression[] =>
  [...runbook.matchAll(/`((?:sum|max|min|count|count_values|histogram_quantile)\b[^`]*\([^`]*\))`/g)].map(
    ([, expr = '']) => ({ where: 'runbook', expr: expr.replaceAll('\n', ' ') }),
  )

export const allExpressions = (): readonly Expression[] => [...ofDashboards(), ...ofRules(), ...ofRunbook()]
