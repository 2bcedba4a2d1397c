import type { Row } from './measurement.ts'
import type { Results } from './results.ts'
import type { WayName } from './ways.ts'

/** One figure of performance.md of the design, and what a run has found of it. */
export type Goal = {
  readonly goal: string
  readonly wanted: string
  readonly found: string
  /** Undefined: the run did not measure it. */
  readonly isMet: boolean | undefined
}

type Bound = readonly ['≤' | '≥', number]
type Figure = (row: Row) => number
type Found = {
  readonly value: number | undefined
  readonly unit?: string
  readonly digits?: number
  readonly note?: string
}

const goalOf = (goal: string, [sign, bound]: Bound, { value, unit = '', digits = 2, note = '' }: Found): Goal => ({
  goal,
  wanted: `${sign} ${bound.toFixed(digits)}${unit}`,
  found: value === undefined ? 'not measured' : `${value.toFixed(digits)}${unit}${note}`,
  // What is no number, as of nothing divided by nothing, meets nothing.
  isMet: value === undefined ? undefined : sign === '≤' ? value <= bound : value >= bound,
})

const total: Figure = ({ totalUs }) => totalUs
const limiter: Figure = ({ limiterUs }) => limiterUs ?? Number.NaN
const speed: Figure = ({ checksPerSecond }) => checksPerSecond

const STREAM: WayName = 'Weir, stream'
const PEER: WayName = 'envoyproxy/ratelimit'
/** Of the processor: one for who asks, one for the limiter, and one for the rest. */
const CORES_BESIDE_SHARDS = 3

export const judge = (results: Results): readonly Goal[] => [
  ...judgeChecks(results.rows),
  ...judgeShards(results.rows, results.runs[0]?.machine.cores ?? 0),
  ...judgeApi(results.api),
  ...judgeMemory(results),
  goalOf('metrics: part of a limiter’s CPU for a check', ['≤', 3], {
    value: results.metrics?.partPercent,
    unit: ' %',
    digits: 1,
  }),
]

const finder = (rows: readonly Row[]) => (load: string, way: WayName, figure: Figure) => {
  const row = rows.find((one) => one.load === load && one.way === way)
  return row && figure(row)
}

const judgeChecks = (rows: readonly Row[]): readonly Goal[] => {
  const find = finder(rows)
  /** What ours is of theirs. */
  const ratio = (load: string, [ours, theirs]: readonly [WayName, WayName], figure: Figure): Found => {
    const [one, other] = [find(load, ours, figure), find(load, theirs, figure)]
    return { value: one === undefined || other === undefined ? undefined : one / other }
  }
  const [at64, at256, arrivals] = ['64 at once', '256 at once', '2,000 a second']
  const p99 = find(arrivals, STREAM, ({ p99Us }) => p99Us / 1000)
  return [
    goalOf(`stream, ${at64}: CPU of ${PEER}’s`, ['≤', 1 / 6], ratio(at64, [STREAM, PEER], total)),
    goalOf(`stream, ${at256}: CPU of ${PEER}’s`, ['≤', 1 / 10], ratio(at256, [STREAM, PEER], total)),
    ...[at64, at256].map((load) =>
      goalOf(
        `stream, ${load}: CPU of rate-limiter-flexible’s`,
        ['≤', 1],
        ratio(load, [STREAM, 'rate-limiter-flexible, in process'], total),
      ),
    ),
    goalOf(`stream, ${at256}: CPU of a bare GET’s`, ['≤', 1], ratio(at256, [STREAM, 'bare GET by ioredis'], total)),
    goalOf(`stream, ${at256}: checks/s of ${PEER}’s`, ['≥', 8], ratio(at256, [STREAM, PEER], speed)),
    ...(['Weir, ShouldAllow', 'Weir, ShouldRateLimit'] as const).flatMap((way) =>
      [at64, at256].map((load) =>
        goalOf(`${way}, ${load}: limiter’s CPU of ${PEER}’s`, ['≤', 1], ratio(load, [way, PEER], limiter)),
      ),
    ),
    goalOf(
      `stream, ${arrivals}: p99 of ${PEER}’s`,
      ['≤', 1],
      ratio(arrivals, [STREAM, PEER], ({ p99Us }) => p99Us),
    ),
    goalOf(`stream, ${arrivals}: p99 on an idle machine`, ['≤', 2], { value: p99, unit: ' ms' }),
    goalOf(
      `stream, 1 at once: p50 of ${PEER}’s (a lone check does not wait)`,
      ['≤', 1],
      ratio('1 at once', [STREAM, PEER], ({ p50Us }) => p50Us),
    ),
    goalOf('stream, 256 at once, one key: CPU of Redis', ['≤', 1], {
      value: find('256 at once, one key', STREAM, ({ redisUs }) => redisUs),
      unit: ' µs',
    }),
    goalOf('stream, 256 at once, an empty bucket: commands of Redis for a check', ['≤', 0.01], {
      value: find('256 at once, an empty bucket', STREAM, ({ redisCommands }) => redisCommands),
      digits: 3,
    }),
  ]
}

/** Each shard adds at least 0.8 of what one does. Where there are too few cores for that, by how much the busiest shard has to do. */
const judgeShards = (rows: readonly Row[], cores: number): readonly Goal[] => {
  const find = finder(rows)
  return [2, 4].map((shards) => {
    const hasCores = cores >= shards + CORES_BESIDE_SHARDS
    const figure: Figure = hasCores ? speed : ({ busiestRedisUs }) => 1 / busiestRedisUs
    const [one, many] = [1, shards].map((count) => find(`256 at once, ${count} of Redis`, STREAM, figure))
    return goalOf(
      `stream, ${shards} shards of Redis: ${hasCores ? 'checks/s' : 'what Redis could do'} of one’s`,
      ['≥', 0.8 * shards],
      {
        value: one === undefined || many === undefined ? undefined : many / one,
        note: hasCores ? '' : ` (by the busiest shard’s CPU: ${cores} cores are too few to see it)`,
      },
    )
  })
}

const judgeApi = (api: Results['api']): readonly Goal[] =>
  ['document, 304', 'list of orders'].flatMap((request) => {
    const gated = api?.find((result) => result.request === request && result.name === 'gate, Redis')
    return [
      goalOf(`gate, ${request}: CPU of the API for a request`, ['≤', 15], {
        value: gated?.gateCpuUs,
        unit: ' µs',
        digits: 1,
      }),
      goalOf(`gate, ${request}: requests/s of the API without it`, ['≥', 0.85], { value: gated?.throughputPart }),
    ]
  })

const judgeMemory = ({ memory, bytes }: Results): readonly Goal[] => {
  const deviation = (who: string, store: string) =>
    memory?.find((one) => one.who === who && one.store === store)?.deviation
  const deviations = ['memory store', 'Redis store'].flatMap((store) =>
    ['limiter', 'client process'].map((who) => {
      const part = deviation(who, store)
      const keys = memory?.[0]?.keys
      return goalOf(`${who}, ${store}: RSS over ${(keys ?? 1_000_000).toLocaleString('en')} keys`, ['≤', 10], {
        value: part && part * 100,
        unit: ' %',
        digits: 1,
      })
    }),
  )
  // Of the format that is written unless an operator says otherwise.
  const written = bytes?.filter(({ format }) => format === 2)
  const single = written?.find(({ buckets }) => buckets === 'per-client')?.bytesPerSubject
  const further = written && Math.max(...written.flatMap(({ bytesPerFurtherBucket = [] }) => bytesPerFurtherBucket))
  return [
    ...deviations,
    goalOf('Redis: a subject with one bucket', ['≤', 190], { value: single, unit: ' B', digits: 0 }),
    goalOf('Redis: a further bucket', ['≤', 120], { value: further, unit: ' B', digits: 0 }),
  ]
}
