import { expect, test } from 'vitest'
import { readLog } from './load.ts'
import { parseMetrics, sumOf } from './metrics.ts'

test('a log of requests becomes a history; what was never answered is unknown until the end', () => {
  const seen = readLog(
    [
      '> 0 1000',
      '> 1 1010',
      '< 0 1004 200 3.51 ',
      '> 2 1020',
      '< 1 1012 429 1.20 ',
      '< 3 1 200 1.0 ',
      'noise',
      '< 2 1050 0 0.00 dial tcp: refused',
      '> 4 1030',
      '< 4 1050 0 0.00 context canceled',
    ].join('\n'),
  )
  expect(seen.calls.map(({ invokeUs, responseUs, verdict }) => [invokeUs, responseUs, verdict])).toEqual([
    [1_000_000, 1_005_000, 'allow'],
    [1_010_000, 1_013_000, 'deny'],
    [1_020_000, 1_051_000, 'unknown'],
    [1_030_000, 1_051_000, 'unknown'],
  ])
  expect(seen.statuses.get(0)).toBe(1)
  expect([...seen.problems]).toEqual([['dial tcp: refused', { count: 1, fromS: 0.05, toS: 0.05 }]])
})

test('series of a metrics page are read with their labels', () => {
  const series = parseMetrics('# HELP a b\na_total 3\nb_total{basis="share",x="1"} 4\nb_total{basis="bucket"} 5\n')
  expect(sumOf(series, /^b_total\{.*basis="share"/)).toBe(4)
  expect(sumOf(series, /^a_total/)).toBe(3)
})
