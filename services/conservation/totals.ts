import { createScale, type History, larger, replay, type Scale } from './history.ts'

/** A history in numbers, all in whole tokens but the last. */
export type Totals = {
  readonly offered: number
  readonly admitted: number
  /** Offered by calls without an answer: perhaps charged, never admitted. */
  readonly unanswered: number
  /** The least that the law lets be admitted; undefined where nothing was refused, since then it claims nothing. */
  readonly lowerBound: number | undefined
  /** The most that the law lets be admitted: capacity + rate × duration, and what the faults may add. */
  readonly upperBound: number
  /** Admitted above the upper bound (positive) or below the lower (negative); 0 between them. */
  readonly difference: number
  /** Calls that were not decided by the bucket that all share. */
  readonly decidedLocally: number
}

export const totalsOf = (history: History): Totals => {
  const { calls } = history
  const scale = createScale(history)
  const tokensWhere = (verdict: string) => sum(calls.map((call) => (call.verdict === verdict ? call.cost : 0)))
  const admitted = tokensWhere('allow')
  const lowerBound = leastAdmitted(history, scale)
  const upperBound = mostAdmitted(history, scale)
  return {
    offered: sum(calls.map(({ cost }) => cost)),
    admitted,
    unanswered: tokensWhere('unknown'),
    lowerBound,
    upperBound,
    difference: Math.max(0, admitted - upperBound) + Math.min(0, admitted - (lowerBound ?? 0)),
    decidedLocally: calls.filter(({ decidedLocally }) => decidedLocally).length,
  }
}

/** From the first call to the last answer. */
const mostAdmitted = ({ rule, calls, faultBound }: History, scale: Scale) => {
  const answered = calls.filter(({ verdict }) => verdict !== 'unknown')
  const refilled = answered.reduce((most, { responseUs }) => larger(most, scale.refilledBy(responseUs)), 0n)
  return scale.toWholeTokens(scale.fromTokens(rule.capacityTokens) + refilled + scale.fromBound(faultBound.overTokens))
}

/**
 * A full bucket whose demand never pauses turns all its refill into grants: when it refuses a cost c at t, less than c is left, so
 * charged > capacity + rate·t − c − wasted, where wasted is the refill that found it full because nobody asked. The best refusal makes
 * the bound, with the invocation for t; the calls by then that have no answer, rounding and faults go off it.
 *
 * Whether demand paused is read off the history: wasted is at most the running maximum of rate·s − charged(s), as in
 * `unexplained-refusals.ts`, where what was charged by s is at least what was answered with a grant by then, and at least what an
 * earlier refusal proves by this very bound. (So a bucket that gets stuck does not look like one that nobody asks.)
 */
const leastAdmitted = (history: History, scale: Scale): number | undefined => {
  const capacity = scale.fromTokens(history.rule.capacityTokens)
  let granted = 0n
  let charged = 0n
  let wasted = 0n
  let doubtful = scale.fromBound(history.faultBound.underTokens)
  let least: bigint | undefined

  replay(history, {
    invoked: ({ verdict, cost }) => {
      if (verdict === 'unknown') doubtful += scale.fromTokens(cost)
      if (verdict !== 'deny') doubtful += scale.nanoToken
    },
    answered: ({ invokeUs, responseUs, verdict, cost }) => {
      wasted = larger(wasted, scale.refilledBy(responseUs) - charged)
      if (verdict === 'allow') {
        granted += scale.fromTokens(cost)
        charged = larger(charged, granted)
      }
      if (verdict !== 'deny') return
      const proved = capacity + scale.refilledBy(invokeUs) - scale.fromTokens(cost) - wasted
      charged = larger(charged, proved)
      if (least === undefined || proved - doubtful > least) least = proved - doubtful
    },
  })
  // More than `least` was admitted, and in whole tokens.
  return least === undefined ? undefined : Math.max(0, scale.toWholeTokens(least) + 1)
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0)

const COLUMNS = [
  ['offered', ({ offered }) => offered],
  ['admitted', ({ admitted }) => admitted],
  ['lower bound', ({ lowerBound }) => lowerBound ?? '-'],
  ['upper bound', ({ upperBound }) => upperBound],
  ['difference', ({ difference }) => difference],
  ['decided locally', ({ decidedLocally }) => decidedLocally],
] as const satisfies readonly (readonly [string, (totals: Totals) => number | string])[]

type Row = {
  readonly name: string
  readonly totals: Totals
  /** Refusals by exact knowledge of the bucket, which the law judges like any other; where it is told of a row, a column shows it. */
  readonly refusedFromMemory?: number
}

/** A table in plain text, one line for each history. */
export const formatTotals = (rows: readonly Row[]) => {
  const isTold = rows.some(({ refusedFromMemory }) => refusedFromMemory !== undefined)
  const cells = [
    ['', ...COLUMNS.map(([title]) => title), ...(isTold ? ['refused from memory'] : [])],
    ...rows.map(({ name, totals, refusedFromMemory = '-' }) => [
      name,
      ...COLUMNS.map(([, read]) => String(read(totals))),
      ...(isTold ? [String(refusedFromMemory)] : []),
    ]),
  ]
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0))) ?? []
  return cells
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}
