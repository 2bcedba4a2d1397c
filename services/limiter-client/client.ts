import { type BreakerState, type CallOutcome, createBreaker, type Permit } from '../breaker/breaker.ts'
import { type Check, checkLimits } from '../contract/check.ts'
import type { Decision } from '../contract/decision.ts'
import type { MonotonicClock } from '../seams/clock.ts'
import type { Randomness } from '../seams/randomness.ts'
import type { Timers } from '../seams/timers.ts'
import type { AskFailure } from './channel/question.ts'
import { startDeadline } from './deadline.ts'
import { createFallback, type FallbackPlan } from './fallback.ts'
import { createRefusalMemory } from './refusal-memory.ts'
import type { Transport } from './replicas/transport.ts'

/** Checks that wait for the limiter at once. One process gets no more answers than about this in a deadline. */
const MAX_WAITING = 2_000
/**
 * The part of these that clients may take of whom the limiter has reported something. The fallback decides rightly about them, so
 * in a flood it is strangers who are asked about: once, and then they are known.
 */
const KNOWN_PART = 0.8

/** `breaker_open`, `overloaded`: the limiter was not asked. */
export type FallbackReason = AskFailure | 'breaker_open'

export type GateDecision =
  | { readonly source: 'limiter'; readonly decision: Decision }
  /** The limiter refused the same question a moment ago. */
  | { readonly source: 'remembered'; readonly decision: Decision }
  | { readonly source: 'fallback'; readonly decision: Decision; readonly reason: FallbackReason }

export type LimiterClient = AsyncDisposable & {
  /** Never rejects, never hangs: within the deadline there is a decision, the limiter's or the fallback's. */
  readonly shouldAllow: (check: Check) => Promise<GateDecision>
}

/** Told on the hot path: implementations allocate nothing and never throw. */
export type ClientObserver = {
  readonly decided: (gate: GateDecision, elapsedUs: number) => void
  /** The limiter was asked in vain. `detail` is for a person to read. */
  readonly failed: (failure: AskFailure, detail: string) => void
  /** The limiter answered, and charged, when nobody waited for it any more. */
  readonly answeredLate: () => void
  readonly breakerChanged: (state: BreakerState) => void
}

type Options = {
  readonly transport: Transport
  readonly deadlineMs?: number
  readonly fallback: FallbackPlan
  /** Refuses for a moment, without asking, what the limiter has just refused. Off unless said. */
  readonly rememberRefusals?: boolean
  readonly monotonicClock: MonotonicClock
  readonly timers: Timers
  readonly randomness: Randomness
  readonly observe?: ClientObserver
  readonly maxWaiting?: number
}

/** Asks the limiter, and knows what to do when there is no answer. Closing it closes the transport. */
export const createLimiterClient = (options: Options): LimiterClient => {
  const { transport, deadlineMs = 50, monotonicClock, timers, randomness, observe, maxWaiting = MAX_WAITING } = options
  const maxKnownWaiting = Math.floor(maxWaiting * KNOWN_PART)
  const fallback = createFallback(options.fallback, monotonicClock)
  const refusals = options.rememberRefusals === true ? createRefusalMemory(monotonicClock) : undefined
  const breaker = createBreaker({
    monotonicClock,
    randomness,
    onChange: (state) => observe?.breakerChanged(state),
  })
  let waiting = 0

  const tell = (gate: GateDecision, startUs: number) => {
    observe?.decided(gate, monotonicClock.monotonicUs() - startUs)
    return gate
  }

  const fallBack = (check: Check, reason: FallbackReason): GateDecision => ({
    source: 'fallback',
    decision: fallback.decide(check),
    reason,
  })

  const ask = (check: Check, permit: Permit, startUs: number) =>
    new Promise<GateDecision>((resolve) => {
      let settled = false
      const settle = (gate: GateDecision, outcome: CallOutcome) => {
        settled = true
        waiting -= 1
        breaker.report(permit, outcome)
        resolve(tell(gate, startUs))
      }
      const fail = (failure: AskFailure, detail: string, outcome: CallOutcome) => {
        observe?.failed(failure, detail)
        settle(fallBack(check, failure), outcome)
      }
      const expire = (lagMs: number) => {
        if (settled) return
        // A limiter that had less than half of the time has not failed.
        const outcome = lagMs < deadlineMs / 2 ? 'failed' : 'inconclusive'
        fail('deadline_exceeded', `no answer within ${deadlineMs} ms`, outcome)
      }

      waiting += 1
      const callOff = startDeadline({
        timers,
        monotonicClock,
        deadlineMs,
        // An answer that already lies in the socket's buffer wins. The call is not cancelled: the limiter has charged it, or will.
        onExpiry: (lagMs) => timers.afterPoll(() => expire(lagMs)),
      })
      void transport.ask(check, deadlineMs).then((asked) => {
        if (settled) {
          if (asked.ok) observe?.answeredLate()
          return
        }
        callOff()
        if (asked.ok) {
          fallback.learn(check, asked.answer.decision)
          refusals?.learn(check, asked.answer.decision)
          settle({ source: 'limiter', decision: asked.answer.decision }, 'answered')
        } else {
          fail(asked.failure, asked.detail, outcomeOf(asked.failure))
        }
      })
    })

  return {
    shouldAllow: async (check) => {
      const startUs = monotonicClock.monotonicUs()
      if (!isCost(check.cost)) {
        // On the wire it would be another number, perhaps 0, which is free.
        observe?.failed('rejected', `cost is ${check.cost}: not a whole number from 0 to ${checkLimits.cost}`)
        return tell(fallBack({ ...check, cost: 1 }, 'rejected'), startUs)
      }
      const refusal = refusals?.recall(check)
      if (refusal !== undefined) return tell({ source: 'remembered', decision: refusal }, startUs)
      if (waiting >= maxWaiting || (waiting >= maxKnownWaiting && fallback.knows(check)))
        return tell(fallBack(check, 'overloaded'), startUs)
      const permit = breaker.admit()
      if (permit === undefined) return tell(fallBack(check, 'breaker_open'), startUs)
      return ask(check, permit, startUs)
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

const outcomeOf = (failure: AskFailure): CallOutcome => {
  switch (failure) {
    case 'rejected':
      // A limiter that finds fault with the question is there.
      return 'answered'
    case 'overloaded':
      return 'inconclusive'
    case 'deadline_exceeded':
    case 'unavailable':
      return 'failed'
  }
}

const isCost = (cost: number) => Number.isInteger(cost) && cost >= 0 && cost <= checkLimits.cost
