import { LRUCache } from 'lru-cache'
import type { Check } from '../contract/check.ts'
import type { Decision } from '../contract/decision.ts'
import type { MonotonicClock } from '../seams/clock.ts'
import { questionKey } from './check-key.ts'

/** A refusal is believed for no longer than this, so that an operator's reset and a changed policy are soon seen. */
const MAX_REMEMBERED_MS = 1_000
const MAX_REFUSALS = 10_000
const MAX_BYTES = 16 * 1024 * 1024
/** About what a refusal takes beside its key. */
const REFUSAL_BYTES = 500

type Refusal = Extract<Decision, { verdict: 'deny'; basis: 'bucket' | 'share' }>
type Remembered = { readonly refusal: Refusal; readonly atUs: number; readonly untilUs: number }

export type RefusalMemory = {
  /** The refusal of the same question, if it still holds, with the waits that are left of it. */
  readonly recall: (check: Check) => Decision | undefined
  /** Takes in what the limiter decided. */
  readonly learn: (check: Check, decision: Decision) => void
}

/**
 * Remembers that the same question (domain, attributes, cost) was refused, for as long as its bucket cannot have filled up: a client
 * that floods costs the limiter nothing then. It is exact as long as nobody resets the bucket or changes its policy.
 */
export const createRefusalMemory = (monotonicClock: MonotonicClock): RefusalMemory => {
  const refusals = new LRUCache<string, Remembered>({
    max: MAX_REFUSALS,
    maxSize: MAX_BYTES,
    sizeCalculation: (_, key) => REFUSAL_BYTES + key.length * 2,
  })
  return {
    recall: (check) => {
      if (refusals.size === 0) return undefined
      const key = keyOf(check)
      const found = refusals.get(key)
      if (found === undefined) return undefined
      const nowUs = monotonicClock.monotonicUs()
      if (nowUs < found.untilUs) return after(found.refusal, Math.floor((nowUs - found.atUs) / 1_000))
      refusals.delete(key)
      return undefined
    },
    learn: (check, decision) => {
      if (decision.verdict !== 'deny' || (decision.basis !== 'bucket' && decision.basis !== 'share')) return
      const atUs = monotonicClock.monotonicUs()
      const untilUs = atUs + Math.min(decision.retryAfterMs, MAX_REMEMBERED_MS) * 1_000
      refusals.set(keyOf(check), { refusal: decision, atUs, untilUs })
    },
  }
}

const keyOf = (check: Check) => `${check.cost}:${questionKey(check)}`

const after = (refusal: Refusal, elapsedMs: number): Decision => ({
  ...refusal,
  retryAfterMs: Math.max(1, refusal.retryAfterMs - elapsedMs),
  quota: { ...refusal.quota, resetAfterMs: Math.max(0, refusal.quota.resetAfterMs - elapsedMs) },
})
