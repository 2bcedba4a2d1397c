import { type Bucket, charge, holds, refill } from '../bucket/bucket.ts'
import type { Rule } from '../bucket/rule.ts'
import type { Call } from './history.ts'

/** A call that will be made: decided some time after it was sent, and answered some time after that. */
export type Demand = {
  readonly invokeUs: number
  readonly untilDecidedUs: number
  readonly untilAnsweredUs: number
  readonly cost: number
  readonly fate: 'answered' | 'answer_lost' | 'never_arrived'
}

/** Whatever decides, one call after the other. */
export type Decide = (nowUs: number, cost: number) => boolean

/** What the callers see when their calls are decided in the order in which they arrive. */
export const record = (demand: readonly Demand[], decide: Decide): readonly Call[] =>
  demand
    .toSorted((a, b) => a.invokeUs + a.untilDecidedUs - (b.invokeUs + b.untilDecidedUs))
    .map(({ invokeUs, untilDecidedUs, untilAnsweredUs, cost, fate }) => {
      const decidedUs = invokeUs + untilDecidedUs
      const granted = fate !== 'never_arrived' && decide(decidedUs, cost)
      return {
        invokeUs,
        responseUs: decidedUs + untilAnsweredUs,
        cost,
        verdict: fate === 'answered' ? (granted ? 'allow' : 'deny') : 'unknown',
        decidedLocally: false,
      }
    })

/** The bucket that Weir counts with, and a hand to damage it. */
export const createBucket = (rule: Rule) => {
  let bucket: Bucket | undefined
  const decide: Decide = (nowUs, cost) => {
    const now = refill(bucket, rule, nowUs)
    if (!holds(now, rule, cost)) return false
    if (cost > 0) bucket = charge(now, cost)
    return true
  }
  return {
    decide,
    state: () => bucket,
    become: (state: Bucket | undefined) => {
      bucket = state
    },
  }
}

/** Calls of one token at random times, `overload` times as many as the refill, each under way for up to `latencyUs`. */
export const overloadDemand = (options: {
  readonly rule: Rule
  readonly seed: number
  readonly calls: number
  readonly overload: number
  readonly latencyUs: number
}): readonly Demand[] => {
  const { rule, seed, calls, overload, latencyUs } = options
  const random = createRandom(seed)
  const meanGapUs = (rule.periodS * 1e6) / rule.refillTokens / overload
  let nowUs = 0
  return Array.from({ length: calls }, () => {
    nowUs += Math.round(-Math.log(1 - random()) * meanGapUs)
    const untilDecidedUs = Math.floor((random() * latencyUs) / 2)
    const untilAnsweredUs = Math.floor((random() * latencyUs) / 2)
    return { invokeUs: nowUs, untilDecidedUs, untilAnsweredUs, cost: 1, fate: 'answered' }
  })
}

/** Mulberry32: the same numbers for the same seed. */
export const createRandom = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
