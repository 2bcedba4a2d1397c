import { makeRule, type Rule, ruleLimits } from '../../bucket/rule.ts'

/** Envoy's units of time in seconds, shortest first; a month has 30 days, as in envoyproxy/ratelimit. */
const UNIT_S = {
  SECOND: 1,
  MINUTE: 60,
  HOUR: 3_600,
  DAY: 86_400,
  WEEK: 604_800,
  MONTH: 2_592_000,
  YEAR: 31_536_000,
} as const

export type Unit = keyof typeof UNIT_S

const units = Object.entries(UNIT_S) as readonly (readonly [Unit, number])[]

/** The shortest unit in which an empty bucket fills: its capacity may be used as often as that, and no less often. */
export const unitOf = (fillMs: number): Unit => units.find(([, seconds]) => seconds * 1000 >= fillMs)?.[0] ?? 'YEAR'

export const isUnit = (name: string): name is Unit => Object.hasOwn(UNIT_S, name)

/**
 * A bucket that fills within the unit. Where that is beyond what a bucket can be, the rate is as asked or a little less, and the capacity
 * is what the longest time brings; 0 requests are a bucket that never holds anything.
 */
export const ruleOf = (requestsPerUnit: number, unit: Unit): Rule => {
  if (requestsPerUnit === 0) return { capacityTokens: 0, refillTokens: 1, periodS: 1 }
  const periodS = UNIT_S[unit]
  const refillTokens = Math.min(requestsPerUnit, ruleLimits.tokensPerSecond * periodS)
  const mostTokens = Math.floor((refillTokens * Math.min(periodS, ruleLimits.fillS)) / periodS)
  // Less than one in the longest time is one.
  if (mostTokens === 0) return { capacityTokens: 1, refillTokens: 1, periodS: ruleLimits.fillS }
  const capacityTokens = Math.min(mostTokens, ruleLimits.capacityTokens)
  const made = makeRule(capacityTokens, refillTokens, periodS)
  return made.ok ? made.rule : { capacityTokens, ...rounded(refillTokens, periodS) }
}

/** The refill, downwards, with as many digits as can be counted. */
const rounded = (refillTokens: number, periodS: number) => {
  const shorterS = Math.floor(periodS / Math.sqrt((refillTokens * periodS) / ruleLimits.refillProduct))
  return { refillTokens: Math.floor((refillTokens * shorterS) / periodS), periodS: shorterS }
}
