import { type Bucket, charge, holds, timesHeld } from '../../bucket/bucket.ts'
import type { AskedBucket, Reading } from '../core/store.ts'
import type { OperationResult } from './take-script.ts'

export type Replayed = { readonly granted: boolean; readonly replayed: boolean; readonly readings: readonly Reading[] }

/**
 * What the take at one place (from 0) among equal merged ones found and left. The script says how the buckets stood before the first
 * and how many were granted; the rest follows, since it grants in order.
 */
export const replay = (
  asked: readonly AskedBucket[],
  cost: number,
  result: OperationResult,
  place: number,
): Replayed => {
  if (result.replayed) {
    const readings = result.before.map(({ bucket, grantedTokens }): Reading => ({ bucket, held: true, grantedTokens }))
    return { granted: true, replayed: true, readings }
  }
  const { granted, before } = result
  const chargesBefore = Math.min(place, granted)
  const readings = asked.map(({ rule }, index): Reading => {
    const first = before[index]?.bucket ?? { deficitNano: 0, atUs: 0 }
    const found = chargedTimes(first, rule, cost, chargesBefore)
    const held = holds(found, rule, cost)
    const pays = place < granted && held
    const grantedTokens = (before[index]?.grantedTokens ?? 0) + (chargesBefore + (pays ? 1 : 0)) * cost
    return { bucket: pays ? charge(found, cost) : found, held, grantedTokens }
  })
  return { granted: place < granted, replayed: false, readings }
}

/** A bucket in shadow stops paying when it holds the cost no more. */
const chargedTimes = (bucket: Bucket, rule: AskedBucket['rule'], cost: number, times: number) =>
  times === 0 || cost === 0 ? bucket : charge(bucket, Math.min(times, timesHeld(bucket, rule, cost)) * cost)

/** What is said of buckets that nobody could look at: that they are full. */
export const unseen = (buckets: readonly AskedBucket[]): Replayed => ({
  granted: false,
  replayed: false,
  readings: buckets.map(full),
})

export const full = (): Reading => ({ bucket: { deficitNano: 0, atUs: 0 }, held: true, isUnseen: true })
