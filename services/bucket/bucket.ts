/**
 * The token bucket of traffic policing, counted by what is missing from it, in whole nano-tokens and microseconds.
 * Every product and sum below stays under 2⁵³ within the limits of `rule.ts`, so nothing is ever rounded but the refill,
 * once, downwards, by less than a nano-token. The same machine as ATM Forum TM 4.0's GCRA in its leaky-bucket form.
 */
import type { Rule } from './rule.ts'

const NANO = 1_000_000_000

export const nanoTokens = (tokens: number) => tokens * NANO

/** A clock this far behind a bucket has been set back: the bucket follows it instead of standing still until it catches up. */
const REBASE_US = 2_000_000

/** The tokens missing at an instant of the store's clock. An absent bucket is a full one. */
export type Bucket = { readonly deficitNano: number; readonly atUs: number }

/** The bucket at `nowUs`; full when there was none. Its time never goes back, but for a clock that was set back. */
export const refill = (bucket: Bucket | undefined, rule: Rule, nowUs: number): Bucket => {
  if (bucket === undefined) return { deficitNano: 0, atUs: nowUs }
  // A policy whose capacity was lowered leaves an empty bucket, not a debt.
  const deficitNano = Math.min(bucket.deficitNano, rule.capacityTokens * NANO)
  if (bucket.atUs - nowUs > REBASE_US) return { deficitNano, atUs: nowUs }
  if (bucket.atUs >= nowUs) return { deficitNano, atUs: bucket.atUs }
  return { deficitNano: deficitNano - refilledNano(deficitNano, rule, nowUs - bucket.atUs), atUs: nowUs }
}

/** At N tokens per P seconds, e µs bring ⌊1000·N·e ÷ P⌋ nano-tokens, in two parts that cannot overflow. */
const refilledNano = (deficitNano: number, { refillTokens, periodS }: Rule, elapsedUs: number) => {
  const restUs = elapsedUs % periodS
  const wholeNano = 1000 * refillTokens * ((elapsedUs - restUs) / periodS)
  // Where wholeNano is too large to be exact, it is larger than any deficit.
  return Math.min(deficitNano, wholeNano + floorDivide(1000 * refillTokens * restUs, periodS))
}

/** Whether the bucket, refilled to now, holds the cost. A cost of 0 is always held. */
export const holds = (bucket: Bucket, rule: Rule, costTokens: number) => holdsNano(bucket, rule, nanoTokens(costTokens))

export const holdsNano = ({ deficitNano }: Bucket, { capacityTokens }: Rule, costNano: number) =>
  nanoTokens(capacityTokens) - costNano >= deficitNano

export const charge = (bucket: Bucket, costTokens: number): Bucket => chargeNano(bucket, nanoTokens(costTokens))

export const chargeNano = ({ deficitNano, atUs }: Bucket, costNano: number): Bucket => ({
  deficitNano: deficitNano + costNano,
  atUs,
})

/** How many times in a row the bucket can pay the cost, which is not 0. */
export const timesHeld = ({ deficitNano }: Bucket, { capacityTokens }: Rule, costTokens: number) =>
  floorDivide(Math.max(0, nanoTokens(capacityTokens) - deficitNano), nanoTokens(costTokens))

/** Whole tokens that the bucket holds. */
export const tokensLeft = (bucket: Bucket, rule: Rule) => timesHeld(bucket, rule, 1)

/** Microseconds until the bucket holds the cost, which is at most its capacity. */
export const untilHoldsUs = (bucket: Bucket, rule: Rule, costTokens: number) =>
  untilHoldsNanoUs(bucket, rule, nanoTokens(costTokens))

export const untilHoldsNanoUs = ({ deficitNano }: Bucket, rule: Rule, costNano: number) =>
  refillTimeUs(Math.max(0, deficitNano - (nanoTokens(rule.capacityTokens) - costNano)), rule)

export const untilFullUs = (bucket: Bucket, rule: Rule) => refillTimeUs(bucket.deficitNano, rule)

/** The least e with ⌊1000·N·e ÷ P⌋ ≥ nano, which is ⌈nano·P ÷ 1000·N⌉, in two parts that cannot overflow. */
const refillTimeUs = (nano: number, { refillTokens, periodS }: Rule) => {
  const perPeriodNano = 1000 * refillTokens
  const restNano = nano % perPeriodNano
  return ((nano - restNano) / perPeriodNano) * periodS + ceilDivide(restNano * periodS, perPeriodNano)
}

// Exact for whole numbers below 2⁵³, unlike rounding a quotient.
const floorDivide = (a: number, b: number) => (a - (a % b)) / b
const ceilDivide = (a: number, b: number) => floorDivide(a, b) + (a % b === 0 ? 0 : 1)
