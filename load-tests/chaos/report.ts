import type { Call } from '../../services/conservation/history.ts'
import { judge } from '../../services/conservation/judge.ts'
import { lostWrites } from '../lib/fault-bound.ts'
import { LIMITERS, limits } from './installation.ts'

export type Episode = { readonly name: string; readonly kind: string; readonly recoveryMs: number }

type Options = {
  readonly episodes: readonly Episode[]
  readonly histories: ReadonlyMap<string, readonly Call[]>
  readonly apiAnswers: ReadonlyMap<string, number>
}

/** Each fault on its own buckets, and all of them on the one that is always empty. */
export const judgeChaos = ({ episodes, histories, apiAnswers }: Options) => {
  const problems: string[] = []
  const rows = new Map<string, Row>()
  for (const { name, kind, recoveryMs } of episodes) {
    const buckets = [...histories].filter(([client]) => client.startsWith(`cold ${name} `))
    for (const [client, calls] of buckets) {
      const { worst, totals } = judge({ rule: limits.cold, calls, faultBound: boundOf(limits.cold, calls, 1) })
      if (totals.difference !== 0)
        problems.push(`${client}: admitted ${totals.admitted}, lawful ${totals.lowerBound} to ${totals.upperBound}`)
      const row = rows.get(kind) ?? { rounds: 0, over: 0, under: 0, recoveryMs: 0 }
      rows.set(kind, {
        ...row,
        over: Math.max(row.over, worst?.excessTokens ?? 0),
        under: Math.max(row.under, limits.cold.capacityTokens - totals.admitted - totals.unanswered),
      })
    }
    const row = rows.get(kind) ?? { rounds: 0, over: 0, under: 0, recoveryMs: 0 }
    rows.set(kind, { ...row, rounds: row.rounds + 1, recoveryMs: Math.max(row.recoveryMs, recoveryMs) })
  }

  const calls = histories.get('hot') ?? []
  const hot = judge({ rule: limits.hot, calls, faultBound: boundOf(limits.hot, calls, episodes.length) })
  if (hot.totals.difference !== 0)
    problems.push(`hot: admitted ${hot.totals.admitted}, lawful ${hot.totals.lowerBound} to ${hot.totals.upperBound}`)
  const errors = [...apiAnswers].filter(([answer]) => answer !== '200' && answer !== '429')
  for (const [answer, count] of errors) problems.push(`the APIs answered ${count} times: ${answer}`)
  const all = [...histories.values()].flat()
  const unanswered = all.filter(({ verdict }) => verdict === 'unknown').length
  const waitedMs = Math.max(...all.map(({ invokeUs, responseUs }) => (responseUs - invokeUs) / 1_000))
  const { totals, worst } = hot
  const text = [
    'fault, rounds, tokens of 100 over and under at worst, longest recovery',
    ...[...rows]
      .toSorted(([a], [b]) => a.localeCompare(b))
      .map(
        ([kind, { rounds, over, under, recoveryMs }]) =>
          `${kind.padEnd(42)} ${rounds}  ${over.toFixed(1).padStart(6)} ${String(Math.max(0, under)).padStart(4)} ${Math.round(recoveryMs)} ms`,
      ),
    `one bucket through all of it: admitted ${totals.admitted} of ${totals.lowerBound ?? '-'} to ${totals.upperBound}, ${(worst?.excessTokens ?? 0).toFixed(1)} over in the worst window, ${totals.decidedLocally} decided by shares`,
    `faults survived: ${episodes.length}; checks: ${all.length}, without an answer ${unanswered}, the longest took ${Math.round(waitedMs)} ms`,
    `answers of the APIs: ${[...apiAnswers].map(([answer, count]) => `${count} × ${answer}`).join(', ')}`,
    `longest recovery: ${Math.round(Math.max(0, ...episodes.map(({ recoveryMs }) => recoveryMs)))} ms`,
    ...problems,
    `${episodes.length} faults passed, ${problems.length} problems`,
  ].join('\n')
  return { failed: problems.length, text }
}

type Row = { readonly rounds: number; readonly over: number; readonly under: number; readonly recoveryMs: number }

/** Of so many faults that may each lose writes and set limiters on their own. */
const boundOf = (rule: (typeof limits)[keyof typeof limits], calls: readonly Call[], count: number) => {
  const endUs = Math.max(0, ...calls.map(({ responseUs }) => responseUs))
  const startUs = Math.min(endUs, ...calls.map(({ invokeUs }) => invokeUs))
  const { overTokens, underTokens } = lostWrites({ rule, durationS: (endUs - startUs) / 1e6, limiters: LIMITERS })
  return { overTokens: overTokens * count, underTokens: underTokens * count }
}
