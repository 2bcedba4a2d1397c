/**
 * The numbers of a token bucket: `capacityTokens` when full, refilled evenly by `refillTokens` every `periodS`.
 * The fraction is in lowest terms, and small enough for the arithmetic of `bucket.ts` to stay exact.
 */
export type Rule = {
  readonly capacityTokens: number
  readonly refillTokens: number
  readonly periodS: number
}

export const ruleLimits = {
  capacityTokens: 4_500_000,
  tokensPerSecond: 1_000_000,
  /** refillTokens × periodS: with it 1000 × refillTokens × periodS stays below 2⁵³. */
  refillProduct: 9_000_000_000_000,
  /** capacity ÷ rate: 30 days. */
  fillS: 30 * 24 * 60 * 60,
} as const

export type RuleProblem = { readonly field: 'capacity' | 'refill'; readonly problem: string }

export type MadeRule =
  | { readonly ok: true; readonly rule: Rule }
  | { readonly ok: false; readonly problems: readonly RuleProblem[] }

/** Makes a rule of whole numbers: `refillTokens` tokens per `periodS` seconds. */
export const makeRule = (capacityTokens: number, refillTokens: number, periodS: number): MadeRule => {
  const divisor = greatestCommonDivisor(refillTokens, periodS)
  const rule = { capacityTokens, refillTokens: refillTokens / divisor, periodS: periodS / divisor }
  const problems = [...capacityProblems(rule), ...refillProblems(rule)]
  return problems.length === 0 ? { ok: true, rule } : { ok: false, problems }
}

const capacityProblems = ({ capacityTokens }: Rule): readonly RuleProblem[] =>
  Number.isInteger(capacityTokens) && capacityTokens >= 1 && capacityTokens <= ruleLimits.capacityTokens
    ? []
    : [{ field: 'capacity', problem: `must be a whole number of tokens from 1 to ${ruleLimits.capacityTokens}` }]

const refillProblems = ({ capacityTokens, refillTokens, periodS }: Rule): readonly RuleProblem[] => {
  if (!Number.isSafeInteger(refillTokens) || !Number.isSafeInteger(periodS) || refillTokens < 1 || periodS < 1)
    return [{ field: 'refill', problem: 'must be more than 0 tokens in a time of more than 0, as in 5/s' }]
  if (refillTokens > ruleLimits.tokensPerSecond * periodS)
    return [{ field: 'refill', problem: `must be at most ${ruleLimits.tokensPerSecond}/s` }]
  if (refillTokens * periodS > ruleLimits.refillProduct)
    return [{ field: 'refill', problem: 'has too many digits to be counted exactly; round it' }]
  if (capacityTokens * periodS > ruleLimits.fillS * refillTokens)
    return [{ field: 'refill', problem: 'must fill an empty bucket within 30 days; raise it or lower the capacity' }]
  return []
}

const greatestCommonDivisor = (a: number, b: number): number =>
  b >= 1 ? greatestCommonDivisor(b, a % b) : Math.max(a, 1)
