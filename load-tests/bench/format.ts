import type { ApiResult } from '../api-throughput.ts'
import type { MemoryResult } from '../bounded-memory.ts'
import type { Goal } from './goals.ts'
import type { Row } from './measurement.ts'
import type { MetricsCost } from './metrics-cost.ts'
import type { Results } from './results.ts'

type Cell = string | number

const table = (head: readonly string[], lines: readonly (readonly Cell[])[]) =>
  [head, head.map(() => '---'), ...lines].map((cells) => `| ${cells.join(' | ')} |`).join('\n')

const us = (value: number | undefined) => value?.toFixed(1) ?? '–'
const whole = (value: number) => Math.round(value).toLocaleString('en')

/** One table for each load. */
export const formatRows = (rows: readonly Row[]) =>
  [...Map.groupBy(rows, ({ load }) => load)]
    .map(([load, of]) => `**${load}**\n\n${table(rowHead, of.map(formatRow))}`)
    .join('\n\n')

const rowHead = [
  'way',
  'checks/s',
  'client µs',
  'limiter µs',
  'Redis µs',
  'total µs',
  'commands of Redis',
  'p50 µs',
  'p99 µs',
  'p99.9 µs',
  'local',
]

const formatRow = (row: Row) => [
  row.way,
  whole(row.checksPerSecond),
  us(row.clientUs),
  us(row.limiterUs),
  us(row.redisUs),
  us(row.totalUs),
  row.redisCommands.toFixed(2),
  whole(row.p50Us),
  whole(row.p99Us),
  whole(row.p999Us),
  row.local,
]

export const formatApi = (api: readonly ApiResult[]) =>
  table(
    [
      'request',
      'API',
      'requests/s',
      'of no gate',
      'API µs',
      'more than no gate, µs',
      'limiter µs',
      'Redis µs',
      'p50 ms',
      'p99 ms',
    ],
    api.map((result) => [
      result.request,
      result.name,
      whole(result.requestsPerS),
      result.throughputPart === undefined ? '' : `${(result.throughputPart * 100).toFixed(0)} %`,
      us(result.apiCpuUs),
      result.gateCpuUs === undefined ? '' : us(result.gateCpuUs),
      us(result.limiterCpuUs),
      us(result.redisCpuUs),
      result.p50Ms.toFixed(1),
      result.p99Ms.toFixed(1),
    ]),
  )

export const formatMemory = (memory: readonly MemoryResult[]) =>
  table(
    ['process', 'store', 'clients', 'resident MiB after the warm-up', 'from the middle'],
    memory.map(({ who, store, keys, low, high, deviation }) => [
      who,
      store,
      whole(keys),
      `${whole(low)} to ${whole(high)}`,
      `± ${(deviation * 100).toFixed(1)} %`,
    ]),
  )

export const formatMetrics = ({ withUs, withoutUs, differencePercent, countingUs }: MetricsCost) => {
  const [low, middle, high] = differencePercent.map((percent) => `${percent.toFixed(1)} %`)
  return table(
    ['limiter with metrics, µs a check', 'without', 'difference in a round (half of the rounds)', 'counting by itself'],
    [[us(withUs), us(withoutUs), `${middle} (${low} to ${high})`, countingUs.toFixed(2)]],
  )
}

/** All that was measured, with a title for each table. */
export const formatFigures = ({ rows, api, memory, metrics }: Results) =>
  [
    formatRows(rows),
    ...(api === undefined ? [] : ['**The API, 64 connections**', formatApi(api)]),
    ...(memory === undefined ? [] : ['**A million clients**', formatMemory(memory)]),
    ...(metrics === undefined ? [] : ['**Metrics**', formatMetrics(metrics)]),
  ].join('\n\n')

export const formatGoals = (goals: readonly Goal[]) =>
  table(
    ['goal', 'wanted', 'found', ''],
    goals
      .filter(({ isMet }) => isMet !== undefined)
      .map(({ goal, wanted, found, isMet }) => [goal, wanted, found, isMet === true ? 'met' : '**not met**']),
  )
