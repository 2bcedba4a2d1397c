import type { WallClock } from '../../seams/clock.ts'
import type { Timers } from '../../seams/timers.ts'
import { type AskedBucket, type BucketKey, type BucketStore, bucketRef, type GroupKey } from '../core/store.ts'

/** In an hour a round's bucket has refilled, and is forgotten. */
const RULE = { capacityTokens: 500, refillTokens: 500, periodS: 3_600 }
const ROUND_MS = 60_000
/** The clocks of two limiters may differ by as much. */
const SKEW_MS = 5_000
/** A store in trouble is left alone. */
const MAX_DRAIN_MS = 10_000

export type CanaryRound = { readonly grantedTokens: number; readonly overdrawn: boolean }

type Options = {
  readonly store: Pick<BucketStore, 'take'>
  /** Adds what this limiter was granted in a round, and tells what all were. */
  readonly addToLedger: (round: string, tokens: number) => Promise<number | undefined>
  readonly clock: WallClock
  readonly timers: Timers
  /** Told of each round that came to an end. */
  readonly observe: (round: CanaryRound) => void
  readonly roundMs?: number
}

/**
 * Drains one bucket through all limiters of a store at once, as each minute begins: a new bucket for each round, one take after the other until
 * one is refused. Whether they were granted more than it held is found by adding up, not by the script that granted.
 */
export const startCanary = (options: Options): Disposable => {
  const { store, addToLedger, clock, timers, observe, roundMs = ROUND_MS } = options
  let callOff = () => {}
  let stopped = false
  const nowMs = () => clock.nowUs() / 1000

  const play = async (round: number) => {
    const bucket = bucketOf(round)
    let grantedTokens = 0
    for (const endMs = nowMs() + Math.min(MAX_DRAIN_MS, roundMs / 2); nowMs() < endMs && !stopped; ) {
      const outcome = await store.take({ cost: 1, buckets: [bucket] })
      // What was counted elsewhere than in the store is no word of the store's.
      if (outcome.kind !== 'counted' || outcome.basis !== 'bucket') break
      if (!outcome.granted) break
      grantedTokens += 1
    }
    const total = await addToLedger(`canary:${round}`, grantedTokens)
    if (total === undefined) return
    observe({ grantedTokens, overdrawn: total > mayBeGranted(nowMs() - round * roundMs) })
  }

  const schedule = () => {
    const round = Math.floor(nowMs() / roundMs) + 1
    callOff = timers.after(round * roundMs - nowMs(), () => {
      // A timer may fire a little early.
      void play(round).finally(() => {
        if (!stopped) schedule()
      })
    })
  }
  schedule()
  return {
    [Symbol.dispose]: () => {
      stopped = true
      callOff()
    },
  }
}

const bucketOf = (round: number): AskedBucket => ({
  ...bucketRef(`s:weir%3acanary:${round}` as GroupKey, 'canary' as BucketKey),
  rule: RULE,
  enforced: true,
})

const mayBeGranted = (elapsedMs: number) =>
  RULE.capacityTokens + Math.ceil((RULE.refillTokens * (Math.max(0, elapsedMs) + SKEW_MS)) / (RULE.periodS * 1000))
