import type { WayName } from './ways.ts'

/** One way, at one concurrency, in one round. CPU in µs a check. */
export type Measurement = {
  readonly way: WayName
  readonly concurrency: number
  readonly checksPerSecond: number
  readonly clientUs: number
  /** Absent: there is no server between. */
  readonly limiterUs: number | undefined
  readonly redisUs: number
  readonly p50Us: number
  readonly p99Us: number
  readonly p999Us: number
  readonly local: number
  readonly failed: number
}

/** The median of each figure over the rounds; of what must not happen, the sum. */
export type Row = Measurement & { readonly totalUs: number; readonly rounds: number }

export const summarize = (measurements: readonly Measurement[]): readonly Row[] =>
  [...Map.groupBy(measurements, ({ way, concurrency }) => `${concurrency} ${way}`).values()].flatMap((rounds) => {
    const [first] = rounds
    if (first === undefined) return []
    const of = (figure: (round: Measurement) => number) => median(rounds.map(figure))
    const sum = (figure: (round: Measurement) => number) => rounds.reduce((total, round) => total + figure(round), 0)
    const row = {
      way: first.way,
      concurrency: first.concurrency,
      rounds: rounds.length,
      checksPerSecond: of((round) => round.checksPerSecond),
      clientUs: of((round) => round.clientUs),
      limiterUs: first.limiterUs === undefined ? undefined : of((round) => round.limiterUs ?? 0),
      redisUs: of((round) => round.redisUs),
      totalUs: of((round) => round.clientUs + (round.limiterUs ?? 0) + round.redisUs),
      p50Us: of((round) => round.p50Us),
      p99Us: of((round) => round.p99Us),
      p999Us: of((round) => round.p999Us),
      local: sum((round) => round.local),
      failed: sum((round) => round.failed),
    }
    return [row]
  })

const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const [low = 0, high = 0] = sorted.length % 2 === 1 ? [sorted[middle], sorted[middle]] : sorted.slice(middle - 1)
  return (low + high) / 2
}

export const formatTable = (rows: readonly Row[]) => {
  const lines = rows.map((row) =>
    [
      row.concurrency,
      row.way,
      Math.round(row.checksPerSecond),
      row.clientUs.toFixed(1),
      row.limiterUs?.toFixed(1) ?? '–',
      row.redisUs.toFixed(1),
      row.totalUs.toFixed(1),
      row.p50Us,
      row.p99Us,
      row.p999Us,
      row.local,
      row.failed,
    ].join(' | '),
  )
  const head =
    'at once | way | checks/s | client µs | limiter µs | Redis µs | total µs | p50 µs | p99 µs | p99.9 µs | local | failed'
  const rule = head.replaceAll(/[^|]+/g, ' --- ')
  return [head, rule, ...lines].map((line) => `| ${line} |`).join('\n')
}

/** A ratio of two rows of the same run, and what it should be. */
export type Goal = { readonly goal: string; readonly wanted: string; readonly ratio: number; readonly isMet: boolean }

export const judge = (rows: readonly Row[]): readonly Goal[] => {
  const find = (way: WayName, concurrency: number) =>
    rows.find((row) => row.way === way && row.concurrency === concurrency)
  const compare = (
    goal: string,
    concurrency: number,
    [ours, theirs]: readonly [WayName, WayName],
    figure: (row: Row) => number,
    [sign, bound]: readonly ['≤' | '≥', number],
  ): readonly Goal[] => {
    const [one, other] = [find(ours, concurrency), find(theirs, concurrency)]
    if (one === undefined || other === undefined) return []
    const ratio = figure(one) / figure(other)
    const isMet = sign === '≤' ? ratio <= bound : ratio >= bound
    return [{ goal: `${goal}, ${concurrency} at once`, wanted: `${sign} ${bound.toFixed(2)}`, ratio, isMet }]
  }
  const total = (row: Row) => row.totalUs
  const limiter = (row: Row) => row.limiterUs ?? 0
  const peer = 'envoyproxy/ratelimit'
  return [
    ...compare('stream: total CPU of envoyproxy/ratelimit', 64, ['Weir, stream', peer], total, ['≤', 1 / 6]),
    ...compare('stream: total CPU of envoyproxy/ratelimit', 256, ['Weir, stream', peer], total, ['≤', 1 / 10]),
    ...[64, 256].flatMap((at) => [
      ...compare(
        'stream: total CPU of rate-limiter-flexible',
        at,
        ['Weir, stream', 'rate-limiter-flexible, in process'],
        total,
        ['≤', 1],
      ),
      ...compare('ShouldAllow: limiter CPU of envoyproxy/ratelimit', at, ['Weir, ShouldAllow', peer], limiter, [
        '≤',
        1,
      ]),
      ...compare('ShouldRateLimit: limiter CPU of envoyproxy/ratelimit', at, ['Weir, ShouldRateLimit', peer], limiter, [
        '≤',
        1,
      ]),
    ]),
    ...compare('stream: total CPU of a bare GET', 256, ['Weir, stream', 'bare GET by ioredis'], total, ['≤', 1]),
    ...compare(
      'stream: checks per second of envoyproxy/ratelimit',
      256,
      ['Weir, stream', peer],
      (row) => row.checksPerSecond,
      ['≥', 8],
    ),
  ]
}

export const formatGoals = (goals: readonly Goal[]) =>
  goals
    .map(
      ({ goal, wanted, ratio, isMet }) => `${isMet ? 'met    ' : 'NOT MET'}  ${ratio.toFixed(2)} (${wanted})  ${goal}`,
    )
    .join('\n')
