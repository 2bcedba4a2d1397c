import { type Bucket, refill } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'

/** A bucket as the store tells of it. */
export type Told = {
  readonly bucket: Bucket
  /** Raised by every reset, and by every change of the rule by which it is charged. */
  readonly epoch: number
  /** Tokens granted since the bucket was last full. */
  readonly grantedTokens: number
  /** Of the rule by which it was last charged. */
  readonly ruleHash: number
}

/** When a call of the store was under way, on this limiter's monotonic clock. */
export type Span = { readonly sentUs: number; readonly receivedUs: number }

/** What a limiter remembers of the last reply about a bucket: how the call left it. */
export type Witness = Told & Span

/** Two clocks that count the same second differ by less than this part of it. */
const DRIFT = 0.001
const EPOCHS = 65_536

/** The time between two calls, at least: from the earlier reply to the later call. */
export const leastElapsedUs = (witness: Span, sentUs: number) =>
  Math.max(0, Math.floor((sentUs - witness.receivedUs) * (1 - DRIFT)))

/** The time between two calls, at most: from the earlier call to the later reply. */
export const mostElapsedUs = (witness: Span, receivedUs: number) =>
  Math.ceil((receivedUs - witness.sentUs + 1) * (1 + DRIFT))

/** Epochs begin anew after the last; the later of two is the one less than half a round ahead. */
export const isOlder = (epoch: number, than: number) => {
  const behind = (than - epoch + EPOCHS) % EPOCHS
  return behind > 0 && behind < EPOCHS / 2
}

/**
 * The nano-tokens that must be missing from a bucket at the instant at which the store tells of it, if it has forgotten nothing. A stored
 * deficit only grows by grants and shrinks by time, so it is never below an earlier one refilled to now. How much time that was the
 * store's clock says, within what this limiter's own allows. 0 where the two cannot be compared.
 */
export const leastMissingNano = (
  witness: Witness,
  { rule, ruleHash }: { readonly rule: Rule; readonly ruleHash: number },
  told: Told,
  { sentUs, receivedUs }: Span,
) => {
  if (witness.ruleHash !== ruleHash || told.ruleHash !== ruleHash || isOlder(witness.epoch, told.epoch)) return 0
  const byStoreUs = told.bucket.atUs - witness.bucket.atUs
  const elapsedUs = Math.min(Math.max(byStoreUs, leastElapsedUs(witness, sentUs)), mostElapsedUs(witness, receivedUs))
  return missingAfter(witness, rule, elapsedUs)
}

/** What a reply tells has been rounded up, by less than a nano-token. */
export const missingAfter = ({ bucket: { deficitNano } }: Told, rule: Rule, elapsedUs: number) =>
  Math.max(0, refill({ deficitNano, atUs: 0 }, rule, elapsedUs).deficitNano - 1)
