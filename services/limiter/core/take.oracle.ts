/**
 * What a store must answer, in exact rational arithmetic and the plainest code: the buckets of `bucket.oracle.ts` by name,
 * all charged or none. It follows the store where a verdict hangs on the nano-tokens that the store rounds away.
 */
import { type ExactBucket, exactCharge, exactHolds, exactMissingNano, exactRefill } from '../../bucket/bucket.oracle.ts'
import type { AskedBucket, BucketRef, Take } from './store.ts'

export type TakeOracle = {
  /** Whether the outcome is one that exact arithmetic allows; remembers what was charged. */
  readonly agrees: (take: Take, nowUs: number, granted: boolean, held: readonly boolean[]) => boolean
  readonly reset: (buckets: readonly BucketRef[]) => void
}

export const createTakeOracle = (): TakeOracle => {
  const buckets = new Map<string, ExactBucket>()
  // Each charge may have cost the store one rounding, of less than a nano-token.
  const charges = new Map<string, bigint>()
  const name = ({ group, key }: BucketRef) => JSON.stringify([group, key])

  const possibleHeld = (asked: AskedBucket, cost: number, nowUs: number): readonly boolean[] => {
    const bucket = exactRefill(buckets.get(name(asked)), asked.rule, nowUs)
    if (!exactHolds(bucket, asked.rule, cost)) return [false]
    const slackNano = BigInt(asked.rule.capacityTokens - cost) * 1_000_000_000n - exactMissingNano(bucket, asked.rule)
    return slackNano >= (charges.get(name(asked)) ?? 0n) ? [true] : [true, false]
  }

  const pay = (asked: AskedBucket, cost: number, nowUs: number) => {
    const bucket = exactRefill(buckets.get(name(asked)), asked.rule, nowUs)
    buckets.set(name(asked), exactCharge(bucket, asked.rule, cost))
    charges.set(name(asked), (charges.get(name(asked)) ?? 0n) + 1n)
  }

  return {
    agrees: ({ cost, buckets: asked }, nowUs, granted, held) => {
      const plausible = asked.every((one, index) => possibleHeld(one, cost, nowUs).includes(held[index] ?? !granted))
      const allHeld = asked.every(({ enforced }, index) => !enforced || held[index] === true)
      if (granted) asked.filter((_, index) => held[index]).map((one) => pay(one, cost, nowUs))
      return plausible && granted === allHeld
    },
    reset: (refs) => {
      for (const ref of refs) buckets.delete(name(ref))
    },
  }
}
