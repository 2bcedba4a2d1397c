import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  VariableRefresh,
} from '@grafana/grafana-foundation-sdk/dashboard'
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus'
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat'
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries'

/** One expression of a panel, and how its series are called. */
export type Query = { readonly expr: string; readonly legend: string }

type Panel = {
  readonly title: string
  /** What an operator reads from it. */
  readonly description: string
  readonly unit: Unit
  readonly queries: readonly Query[]
}

/** Grafana's names of units. */
export type Unit = 's' | 'short' | 'percentunit' | 'reqps' | 'bytes'

const GRID = 24
const datasource = { type: 'prometheus', uid: '$datasource' }

export const datasourceVariable = new DatasourceVariableBuilder('datasource').label('Prometheus').type('prometheus')

/** Its values are those of a label. */
export const labelVariable = (name: string, metric: string) =>
  new QueryVariableBuilder(name)
    .label(name)
    .datasource(datasource)
    .query(`label_values(${metric}, ${name})`)
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .multi(true)
    .includeAll(true)
    .allValue('.*')

const targets = (queries: readonly Query[]) =>
  queries.map(({ expr, legend }, index) =>
    new DataqueryBuilder()
      .refId(String.fromCharCode('A'.charCodeAt(0) + index))
      .datasource(datasource)
      .expr(expr)
      .legendFormat(legend),
  )

/** Lines over time, three beside each other. */
export const timeseries = ({ title, description, unit, queries }: Panel) =>
  new TimeseriesBuilder()
    .title(title)
    .description(description)
    .datasource(datasource)
    .unit(unit)
    .min(0)
    .targets(targets(queries))
    .span(GRID / 3)
    .height(8)

/** The latest value, six beside each other. */
export const stat = ({ title, description, unit, queries }: Panel) =>
  new StatBuilder()
    .title(title)
    .description(description)
    .datasource(datasource)
    .unit(unit)
    .targets(targets(queries))
    .span(GRID / 6)
    .height(4)
