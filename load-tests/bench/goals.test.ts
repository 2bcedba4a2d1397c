import { describe, expect, test } from 'vitest'
import { judge } from './goals.ts'
import type { Row } from './measurement.ts'
import { mergeResults } from './merge.ts'
import type { Results } from './results.ts'

const run = (cores = 2): Results['runs'][number] => ({
  date: '2026-11-22T06:00:00.000Z',
  command: 'npm run bench',
  machine: { cpu: 'any', cores, node: 'v24', redis: '7' },
})

const rowOf = (load: string, way: Row['way'], figures: Partial<Row> = {}): Row => ({
  part: 'checks',
  load,
  way,
  rounds: 5,
  checksPerSecond: 1_000,
  clientUs: 10,
  redisUs: 5,
  busiestRedisUs: 5,
  redisCommands: 2,
  totalUs: 15,
  othersPart: 0,
  p50Us: 100,
  p99Us: 300,
  p999Us: 400,
  refused: 0,
  local: 0,
  failed: 0,
  ...figures,
})

const goal = (results: Partial<Results>, name: string) => {
  const [found, ...others] = judge({ runs: [run()], rows: [], ...results }).filter((one) => one.goal.includes(name))
  expect(others).toEqual([])
  return found
}

describe('a goal', () => {
  const cpu = (ours: number) => ({
    rows: [
      rowOf('256 at once', 'Weir, stream', { totalUs: ours }),
      rowOf('256 at once', 'envoyproxy/ratelimit', { totalUs: 300 }),
    ],
  })

  test('is met at its bound, and not above it', () => {
    const name = 'stream, 256 at once: CPU of envoyproxy/ratelimit'
    expect(goal(cpu(30), name)).toMatchObject({ wanted: '≤ 0.10', found: '0.10', isMet: true })
    expect(goal(cpu(30.1), name)).toMatchObject({ isMet: false })
  })

  test('that wants more is met from its bound on', () => {
    const speed = (ours: number) => ({
      rows: [
        rowOf('256 at once', 'Weir, stream', { checksPerSecond: ours }),
        rowOf('256 at once', 'envoyproxy/ratelimit', { checksPerSecond: 5_000 }),
      ],
    })
    expect(goal(speed(40_000), 'checks/s of envoyproxy')).toMatchObject({ wanted: '≥ 8.00', isMet: true })
    expect(goal(speed(39_999), 'checks/s of envoyproxy')).toMatchObject({ isMet: false })
  })

  test('of which one side was not measured is neither met nor missed', () => {
    const rows = [rowOf('256 at once', 'Weir, stream')]
    expect(goal({ rows }, 'stream, 256 at once: CPU of envoyproxy/ratelimit')).toMatchObject({
      found: 'not measured',
      isMet: undefined,
    })
    expect(judge({ runs: [run()], rows: [] }).every(({ isMet }) => isMet === undefined)).toBe(true)
  })

  test('of figures that are no numbers is not met', () => {
    expect(goal(cpu(Number.NaN), 'stream, 256 at once: CPU of envoyproxy/ratelimit')).toMatchObject({ isMet: false })
  })

  test('of the limiter’s time does not count the client’s', () => {
    const rows = [
      rowOf('64 at once', 'Weir, ShouldAllow', { limiterUs: 100, totalUs: 900 }),
      rowOf('64 at once', 'envoyproxy/ratelimit', { limiterUs: 125, totalUs: 100 }),
    ]
    expect(goal({ rows }, 'ShouldAllow, 64')).toMatchObject({ found: '0.80', isMet: true })
  })
})

describe('more shards of Redis', () => {
  const rows = (
    [
      [1, 20_000, 10],
      [2, 21_000, 6],
      [4, 22_000, 3.2],
    ] as const
  ).map(([shards, checksPerSecond, busiestRedisUs]) =>
    rowOf(`256 at once, ${shards} of Redis`, 'Weir, stream', { checksPerSecond, busiestRedisUs }),
  )

  test('are judged by what they let through where there are cores for them', () => {
    expect(goal({ rows, runs: [run(16)] }, '2 shards')).toMatchObject({ found: '1.05', wanted: '≥ 1.60', isMet: false })
    expect(goal({ rows, runs: [run(5)] }, 'stream, 2 shards of Redis: checks/s')).toBeDefined()
    expect(goal({ rows, runs: [run(5)] }, 'stream, 4 shards of Redis: what Redis could do')).toBeDefined()
  })

  test('are judged by the one that works most where there are not, and that is said', () => {
    expect(goal({ rows, runs: [run(2)] }, '2 shards')).toMatchObject({
      found: expect.stringContaining('1.67 (by the busiest shard’s CPU: 2 cores'),
      isMet: true,
    })
    expect(goal({ rows, runs: [run(2)] }, '4 shards')).toMatchObject({ wanted: '≥ 3.20', isMet: false })
  })
})

test('the gate, memory and metrics are judged by what their programs found', () => {
  const round = { requestsPerS: 900, apiCpuUs: 115, p50Ms: 1, p99Ms: 2 }
  const results: Partial<Results> = {
    api: [
      { request: 'document, 304', name: 'gate, memory', ...round, gateCpuUs: 1, throughputPart: 1 },
      { request: 'document, 304', name: 'gate, Redis', ...round, gateCpuUs: 15.1, throughputPart: 0.9 },
    ],
    memory: [
      { who: 'limiter', store: 'Redis store', keys: 1_000_000, low: 90, high: 111, deviation: 0.104, isFlat: false },
    ],
    bytes: [
      { format: 1, buckets: 'per-client', bytesPerSubject: 999 },
      { format: 2, buckets: 'per-client', bytesPerSubject: 182 },
      { format: 2, buckets: 'per-client writes', bytesPerSubject: 290, bytesPerFurtherBucket: 108 },
      { format: 2, buckets: 'per-client writes reads', bytesPerSubject: 430, bytesPerFurtherBucket: 124 },
    ],
    metrics: { withUs: 20, withoutUs: 19.7, differencePercent: [-1, 1, 2], countingUs: 0.3, partPercent: 1.5 },
  }
  expect(goal(results, 'document, 304: CPU')).toMatchObject({ found: '15.1 µs', isMet: false })
  expect(goal(results, 'document, 304: requests/s')).toMatchObject({ found: '0.90', isMet: true })
  expect(goal(results, 'limiter, Redis store')).toMatchObject({ found: '10.4 %', isMet: false })
  expect(goal(results, 'client process, Redis store')).toMatchObject({ isMet: undefined })
  expect(goal(results, 'one bucket')).toMatchObject({ found: '182 B', isMet: true })
  expect(goal(results, 'a further bucket')).toMatchObject({ found: '124 B', isMet: false })
  expect(goal(results, 'metrics')).toMatchObject({ found: '1.5 %', isMet: true })
})

test('of several runs the later one counts where both have measured, and all are told of', () => {
  const first: Results = { runs: [run()], rows: [rowOf('a', 'Weir, stream'), rowOf('b', 'Weir, stream')], api: [] }
  const second: Results = { runs: [run(4)], rows: [rowOf('b', 'Weir, stream', { totalUs: 1 })] }
  const merged = mergeResults([first, second])
  expect(merged.rows.map(({ load, totalUs }) => [load, totalUs])).toEqual([
    ['a', 15],
    ['b', 1],
  ])
  expect(merged.runs).toHaveLength(2)
  expect(merged.api).toEqual([])
})
