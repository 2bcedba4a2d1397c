import { judge } from '../conservation/judge.ts'
import { formatTotals } from '../conservation/totals.ts'
import type { Seen } from './load.ts'
import { describeLocal, type LocalDecisions, totalOf } from './metrics.ts'
import type { Report } from './report.ts'

/** The policy `pro` of ci/e2e-values.yaml. */
export const proRule = { capacityTokens: 200, refillTokens: 20, periodS: 1 }

/** Holds what a load has seen to the law: exact, everybody answered, nothing but 200 and 429. */
export const claimExact = (
  name: string,
  { calls, statuses, problems }: Seen,
  local: LocalDecisions,
  { claim, say }: Report,
) => {
  const judgement = judge({ rule: proRule, calls, faultBound: { overTokens: 0, underTokens: 0 } })
  const { totals, unexplained, worst } = judgement
  say(formatTotals([{ name, totals: { ...totals, decidedLocally: totalOf(local) } }]))
  const others = [...statuses].filter(([status]) => status !== 200 && status !== 429)
  claim(
    `${name}: no request fails`,
    others.length === 0,
    [...statuses].map(([status, count]) => `${count} × ${status === 0 ? 'no answer' : status}`).join(', '),
  )
  sayProblems(problems, say)
  claim(`${name}: what was admitted is within the law`, totals.difference === 0, `difference ${totals.difference}`)
  claim(
    `${name}: in every window too, and every refusal is explained`,
    (worst?.excessTokens ?? 0) <= 0 && unexplained.count === 0,
    `worst window ${(worst?.excessTokens ?? 0).toFixed(2)} tokens, ${unexplained.count} unexplained`,
  )
  claim(`${name}: the bucket was empty, so that there was something to count`, totals.lowerBound !== undefined)
  claim(`${name}: nothing was decided locally`, totalOf(local) === 0, describeLocal(local))
}

export const sayProblems = (problems: Seen['problems'], say: Report['say']) => {
  for (const [problem, { count, fromS, toS }] of problems)
    say(`${count} × ${problem}, ${fromS.toFixed(1)} to ${toS.toFixed(1)} s after the load began`)
}

/** By how many tokens a load exceeded the law, where a fault may have let it. */
export const overAdmission = ({ calls }: Seen) => {
  const { totals, worst } = judge({ rule: proRule, calls, faultBound: { overTokens: 0, underTokens: 0 } })
  return { totals, worstWindowTokens: Math.max(0, worst?.excessTokens ?? 0) }
}

export const failuresOf = ({ statuses }: Seen) =>
  [...statuses].reduce((sum, [status, count]) => (status === 200 || status === 429 ? sum : sum + count), 0)

export const percentile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))] ?? 0
