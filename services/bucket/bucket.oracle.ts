/**
 * The bucket in exact rational arithmetic (BigInt, nothing rounded), written from the definition and not from `bucket.ts`:
 * tokens grow evenly up to the capacity; a take is granted when they cover the cost. Tests hold the fast one against it.
 */
import type { Rule } from './rule.ts'

/** Missing tokens, as a whole number of 1/(10⁶·P) tokens: fine enough for every microsecond's refill to be whole. */
export type ExactBucket = { readonly missing: bigint; readonly atUs: bigint }

const unit = (rule: Rule) => 1_000_000n * BigInt(rule.periodS)

export const exactRefill = (bucket: ExactBucket | undefined, rule: Rule, nowUs: number): ExactBucket => {
  const now = BigInt(nowUs)
  if (bucket === undefined) return { missing: 0n, atUs: now }
  const missing = bucket.missing - BigInt(rule.refillTokens) * (now - bucket.atUs)
  return { missing: missing > 0n ? missing : 0n, atUs: now }
}

export const exactHolds = (bucket: ExactBucket, rule: Rule, costTokens: number) =>
  BigInt(rule.capacityTokens - costTokens) * unit(rule) >= bucket.missing

export const exactCharge = (bucket: ExactBucket, rule: Rule, costTokens: number): ExactBucket => ({
  missing: bucket.missing + BigInt(costTokens) * unit(rule),
  atUs: bucket.atUs,
})

/** Missing nano-tokens, rounded up. */
export const exactMissingNano = (bucket: ExactBucket, rule: Rule) => {
  const scaled = bucket.missing * 1_000_000_000n
  return (scaled + unit(rule) - 1n) / unit(rule)
}
