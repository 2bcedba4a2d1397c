import { nanoTokens, timesHeld } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { AskedBucket } from '../core/store.ts'
import { isOlder, leastMissingNano, type Span, type Told, type Witness } from './witness.ts'

/** One operation on the buckets of a group, and what the store answered. */
export type Operation = {
  readonly kind: 'take' | 'reset' | 'debit'
  readonly cost: number
  /** Of a debit: nano-tokens beside the cost. */
  readonly extraNano?: number
  readonly times: number
  readonly buckets: readonly AskedBucket[]
}
export type Result = {
  readonly granted: number
  readonly replayed: boolean
  /** Each bucket as it stood before, refilled to the moment of the operation. */
  readonly before: readonly Told[]
}

export type Judged = {
  /** What is to be answered: where writes were lost, as if they had not been; never more than the store granted. */
  readonly result: Result
  /** Each bucket after the operation. */
  readonly left: readonly Told[]
  /** Those of which the store had forgotten something. */
  readonly lost: readonly AskedBucket[]
}

export type RuleHash = (rule: Rule) => number

/** Compares what the store tells of each bucket with what this limiter remembers of it. */
export const judgeResult = (
  operation: Operation,
  result: Result,
  witnesses: readonly (Witness | undefined)[],
  span: Span,
  ruleHash: RuleHash,
): Judged => {
  const losses = operation.buckets.map((asked, index) => {
    const witness = witnesses[index]
    return witness && lossOf(witness, asked, result.before[index] ?? NEVER_TOLD, span, ruleHash(asked.rule))
  })
  const lost = operation.buckets.filter((_, index) => losses[index] !== undefined)
  const reported = lost.length > 0 ? veto(operation, result, losses) : result
  const left = operation.buckets.map((asked, index) => {
    const told = result.before[index] ?? NEVER_TOLD
    const { truth, shown } = losses[index] ?? { truth: told, shown: told }
    return after(operation, asked, truth, paid(operation, reported, asked, shown), ruleHash(asked.rule))
  })
  return { result: reported, left, lost }
}

const NEVER_TOLD: Told = { bucket: { deficitNano: 0, atUs: 0 }, epoch: 0, grantedTokens: 0, ruleHash: -1 }

/** The bucket after an operation about which the store has forgotten nothing. `ruleHash`: of the rule that the bucket is asked by. */
export const stateAfter = (operation: Operation, result: Result, asked: AskedBucket, told: Told, ruleHash: number) =>
  after(operation, asked, told, paid(operation, result, asked, told), ruleHash)

/** `truth`: the bucket as far as anybody knows; `shown`: the emptier of that and what the store decided by. */
type Loss = { readonly truth: Told; readonly shown: Told }

/** What the store has forgotten of the bucket; undefined: nothing. */
export const lossOf = (
  witness: Witness,
  asked: AskedBucket,
  told: Told,
  span: Span,
  ruleHash: number,
): Loss | undefined => {
  const { deficitNano, atUs } = told.bucket
  // The usual case, for which nothing need be computed: as empty as it was, or emptier.
  if (told.epoch === witness.epoch && deficitNano >= witness.bucket.deficitNano) return undefined
  const missing = leastMissingNano(witness, { rule: asked.rule, ruleHash }, told, span)
  const lostEpoch = missing > 0 && isOlder(told.epoch, witness.epoch)
  if (!lostEpoch && missing <= deficitNano) return undefined
  const { epoch } = witness
  const grantedTokens = Math.max(told.grantedTokens, witness.grantedTokens)
  const truth = { ...told, epoch, grantedTokens, bucket: { deficitNano: missing, atUs } }
  const shown = { ...truth, bucket: { deficitNano: Math.max(missing, deficitNano), atUs } }
  return { truth, shown }
}

/** A take is granted as often as the buckets that are really there could pay. */
const veto = ({ kind, buckets, cost }: Operation, result: Result, losses: readonly (Loss | undefined)[]): Result => {
  const before = result.before.map((told, index) => losses[index]?.shown ?? told)
  if (kind !== 'take' || result.replayed || cost === 0) return { ...result, before }
  const payable = buckets.map((asked, index) =>
    asked.enforced ? timesHeld((before[index] ?? NEVER_TOLD).bucket, asked.rule, cost) : Number.POSITIVE_INFINITY,
  )
  return { ...result, before, granted: Math.min(result.granted, ...payable) }
}

const paid = ({ kind, cost, extraNano = 0 }: Operation, result: Result, asked: AskedBucket, shown: Told) => {
  if (kind === 'reset' || result.replayed) return 0
  if (kind === 'debit') return nanoTokens(cost) + extraNano
  if (cost === 0) return 0
  // A bucket in shadow pays as long as it holds the cost.
  const times = asked.enforced ? result.granted : Math.min(result.granted, timesHeld(shown.bucket, asked.rule, cost))
  return nanoTokens(times * cost)
}

const after = ({ kind }: Operation, { rule }: AskedBucket, told: Told, paidNano: number, ruleHash: number): Told => {
  const { deficitNano, atUs } = told.bucket
  const epoch = (told.epoch + 1) % 65_536
  if (kind === 'reset') return { bucket: { deficitNano: 0, atUs }, epoch, grantedTokens: 0, ruleHash }
  if (paidNano === 0) return told
  return {
    bucket: { deficitNano: Math.min(deficitNano + paidNano, nanoTokens(rule.capacityTokens)), atUs },
    // Who charges by another rule than the last begins a new epoch: what was seen before says nothing any more.
    epoch: told.ruleHash === ruleHash ? told.epoch : epoch,
    grantedTokens: told.grantedTokens + Math.floor(paidNano / nanoTokens(1)),
    ruleHash,
  }
}
