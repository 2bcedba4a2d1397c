import { nanoTokens } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Reading } from './store.ts'

/**
 * A share of a bucket is the whole bucket in which each take weighs `stretch` times its cost, as if the other limiters did likewise:
 * capacity and refill need no rounding then. However small the share, a full bucket holds any cost that the whole one can hold.
 */
export const stretchedNano = (costTokens: number, { capacityTokens }: Rule, stretch = 1) =>
  Math.min(Math.ceil(nanoTokens(costTokens) * stretch), nanoTokens(capacityTokens))

/** Whole tokens that are left to this limiter. */
export const shareLeft = ({ bucket, stretch = 1 }: Reading, { capacityTokens }: Rule) =>
  Math.max(0, Math.floor((nanoTokens(capacityTokens) - bucket.deficitNano) / stretch / nanoTokens(1)))
