import type { Part } from './loads.ts'
import { median } from './median.ts'
import type { WayName } from './ways.ts'

/** One way under one load in one round. Processor time in µs a check. */
export type Measurement = {
  readonly part: Part
  readonly load: string
  readonly way: WayName
  readonly checksPerSecond: number
  readonly clientUs: number
  /** Absent: there is no server between. */
  readonly limiterUs?: number
  readonly redisUs: number
  /** Of the shard of Redis that works most. */
  readonly busiestRedisUs: number
  /** What Redis ran, a check, what scripts call included. */
  readonly redisCommands: number
  /** What programs that are no part of it took of all cores meanwhile. */
  readonly othersPart: number
  readonly p50Us: number
  readonly p99Us: number
  readonly p999Us: number
  readonly refused: number
  readonly local: number
  readonly failed: number
}

/** The median of each figure over the rounds; of what is counted, the sum. */
export type Row = Measurement & { readonly totalUs: number; readonly rounds: number }

export const summarize = (measurements: readonly Measurement[]): readonly Row[] =>
  [...Map.groupBy(measurements, ({ load, way }) => `${load} ${way}`).values()].flatMap((rounds) => {
    const [first] = rounds
    return first === undefined ? [] : [summarizeRounds(first, rounds)]
  })

const summarizeRounds = (first: Measurement, rounds: readonly Measurement[]): Row => {
  const middle = (figure: (round: Measurement) => number) => median(rounds.map(figure))
  const sum = (figure: (round: Measurement) => number) => rounds.reduce((total, round) => total + figure(round), 0)
  return {
    part: first.part,
    load: first.load,
    way: first.way,
    rounds: rounds.length,
    checksPerSecond: middle((round) => round.checksPerSecond),
    clientUs: middle((round) => round.clientUs),
    ...(first.limiterUs !== undefined && { limiterUs: middle((round) => round.limiterUs ?? 0) }),
    redisUs: middle((round) => round.redisUs),
    busiestRedisUs: middle((round) => round.busiestRedisUs),
    redisCommands: middle((round) => round.redisCommands),
    totalUs: middle((round) => round.clientUs + (round.limiterUs ?? 0) + round.redisUs),
    othersPart: middle((round) => round.othersPart),
    p50Us: middle((round) => round.p50Us),
    p99Us: middle((round) => round.p99Us),
    p999Us: middle((round) => round.p999Us),
    refused: sum((round) => round.refused),
    local: sum((round) => round.local),
    failed: sum((round) => round.failed),
  }
}
