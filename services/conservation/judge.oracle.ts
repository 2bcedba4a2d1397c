/**
 * The law read aloud: every instant, every window, every call, nothing clever. Only for short histories in small numbers of
 * microseconds.
 */
import type { Rule } from '../bucket/rule.ts'
import type { Call, History } from './history.ts'

/** In nano-tokens times `periodS`, so that nothing is rounded. */
const tokens = (rule: Rule, count: number) => BigInt(count) * 1_000_000_000n * BigInt(rule.periodS)
const refilled = (rule: Rule, us: number) => 1000n * BigInt(rule.refillTokens) * BigInt(us)

const windows = function* (calls: readonly Call[]) {
  const firstUs = Math.min(...calls.map(({ invokeUs }) => invokeUs))
  const lastUs = Math.max(...calls.map(({ responseUs }) => responseUs))
  for (let startUs = firstUs; startUs <= lastUs; startUs += 1)
    for (let endUs = startUs; endUs <= lastUs; endUs += 1) yield { startUs, endUs }
}

const costOf = (calls: readonly Call[]) => calls.reduce((sum, { cost }) => sum + cost, 0)

/** In nano-tokens, rounded up; undefined where nothing was admitted. */
export const excessNanoByBruteForce = ({ rule, calls }: History): bigint | undefined => {
  let worst: bigint | undefined
  for (const { startUs, endUs } of windows(calls)) {
    const admitted = costOf(
      calls.filter((call) => call.verdict === 'allow' && call.invokeUs >= startUs && call.responseUs <= endUs),
    )
    if (admitted === 0) continue
    const excess = tokens(rule, admitted) - tokens(rule, rule.capacityTokens) - refilled(rule, endUs - startUs)
    if (worst === undefined || excess > worst) worst = excess
  }
  if (worst === undefined) return undefined
  const period = BigInt(rule.periodS)
  return worst > 0n ? (worst + period - 1n) / period : worst / period
}

export const unexplainedByBruteForce = ({ rule, calls, faultBound }: History): ReadonlySet<Call> => {
  const charged = calls.filter(({ verdict, cost }) => verdict !== 'deny' && cost > 0)
  const explained = (refusal: Call) =>
    windows(calls).some(({ startUs, endUs }) => {
      if (endUs < refusal.invokeUs || endUs > refusal.responseUs) return false
      const mayHaveRun = charged.filter((call) => call.invokeUs <= endUs && call.responseUs >= startUs)
      const roundedOff = BigInt(mayHaveRun.length * rule.periodS)
      const allowed =
        tokens(rule, rule.capacityTokens - refusal.cost) -
        tokens(rule, faultBound.underTokens) +
        refilled(rule, endUs - startUs)
      return tokens(rule, costOf(mayHaveRun)) + roundedOff > allowed
    })
  return new Set(calls.filter((call) => call.verdict === 'deny' && !explained(call)))
}
