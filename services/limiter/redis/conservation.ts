import { type Bucket, refill } from '../../bucket/bucket.ts'
import { roundOf } from '../core/round.ts'
import type { AskedBucket } from '../core/store.ts'
import {
  type OperationResult,
  ruleHash,
  type ScriptOperation,
  type ScriptReply,
  type StoredBucket,
} from './take-script.ts'

/**
 * `granted`: more was granted since the last reply than the deficit and the refill account for. `lost`: less is missing than this limiter's
 * own last charge left missing, so a write of the store was lost.
 */
export type Violation = 'granted' | 'lost'

const NANO = 1_000_000_000
/** Each operation rounds a refill down by less than a nano-token. */
const ROUNDING_NANO = 1_000
/** The store's clock may run behind the limiter's by this much between two replies; if it is more, it was set back. */
const SET_BACK_US = 1_000_000
/** So many groups are compared; each that is asked about again soon is among them before long. */
const MAX_GROUPS = 1_024
const REPLACE_ONE_IN = 16

/** How a bucket stood after this limiter's last operation on it. */
type Left = Bucket & {
  readonly key: string
  readonly epoch: number
  readonly ruleHash: number
  readonly grantedTokens: number
  /** When that was, by the limiter's own clock. */
  readonly seenUs: number
}

/**
 * Holds each reply of the store to the conservation law, for the first bucket of each of a bounded sample of groups: between two replies
 * Δgranted ≤ Δdeficit + rate·Δt. Buckets that were reset, changed their rule or follow another clock are not compared.
 */
export const createConservationCheck = (violated: (violation: Violation) => void, monotonicUs: () => number) => {
  const left = new Map<string, Left>()
  const oldest = roundOf(left)
  let passedBy = 0

  const remember = (key: string, value: Left) => {
    if (!left.has(key) && left.size >= MAX_GROUPS) {
      passedBy += 1
      if (passedBy % REPLACE_ONE_IN !== 0) return
      left.delete(oldest()?.[0] ?? key)
    }
    left.set(key, value)
  }

  const check = (operation: ScriptOperation, result: OperationResult, seenUs: number) => {
    const [asked] = operation.buckets
    const [found] = result.before
    if (asked === undefined || found === undefined) return
    const before = left.get(operation.key)
    if (before !== undefined && isComparable(before, asked, found, seenUs)) {
      const violation = compare(before, asked, found)
      if (violation !== undefined) violated(violation)
    }
    const now = after(operation, asked, found, result, seenUs)
    // A full bucket is not stored, nor is its time.
    if (found.ruleHash === ruleHash(asked.rule) && now.deficitNano > 0) remember(operation.key, now)
    else left.delete(operation.key)
  }

  return (operations: readonly ScriptOperation[], { results }: ScriptReply) => {
    const seenUs = monotonicUs()
    operations.forEach((operation, index) => {
      const result = results[index]
      if (result !== undefined) check(operation, result, seenUs)
    })
  }
}

const isComparable = (before: Left, asked: AskedBucket, found: StoredBucket, seenUs: number) =>
  before.key === asked.key &&
  before.ruleHash === found.ruleHash &&
  before.ruleHash === ruleHash(asked.rule) &&
  before.epoch === found.epoch &&
  before.atUs <= found.bucket.atUs &&
  seenUs - before.seenUs <= found.bucket.atUs - before.atUs + SET_BACK_US

const compare = (
  before: Left,
  { rule }: AskedBucket,
  { bucket, grantedTokens }: StoredBucket,
): Violation | undefined => {
  if (bucket.deficitNano < refill(before, rule, bucket.atUs).deficitNano - ROUNDING_NANO) return 'lost'
  // The store counts anew whenever the bucket is full.
  const sinceFull = grantedTokens < before.grantedTokens
  const grantedNano = (sinceFull ? grantedTokens : grantedTokens - before.grantedTokens) * NANO
  const chargedNano = sinceFull ? bucket.deficitNano : bucket.deficitNano - before.deficitNano
  const elapsedUs = bucket.atUs - before.atUs
  const refilledNano = (1000 * rule.refillTokens * elapsedUs) / rule.periodS
  // A debit is counted in full, and leaves the bucket empty at worst: where it may have been, nothing can be said.
  if (bucket.deficitNano + refilledNano >= rule.capacityTokens * NANO) return undefined
  return grantedNano > chargedNano + refilledNano + ROUNDING_NANO ? 'granted' : undefined
}

const after = (
  { kind, cost }: ScriptOperation,
  { key, enforced }: AskedBucket,
  found: StoredBucket,
  { granted, replayed }: OperationResult,
  seenUs: number,
): Left => {
  // What a bucket in shadow paid the reply does not say.
  const tokens = kind === 'take' && enforced && !replayed ? granted * cost : 0
  return {
    key,
    deficitNano: found.bucket.deficitNano + tokens * NANO,
    atUs: found.bucket.atUs,
    epoch: found.epoch,
    ruleHash: found.ruleHash,
    grantedTokens: found.grantedTokens + tokens,
    seenUs,
  }
}
