import { type BreakerState, createBreaker } from '../../breaker/breaker.ts'
import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import type { AskedBucket } from '../core/store.ts'
import { createLaneQueue, type Queued, type RunScript } from './lane-queue.ts'
import type { LostFate } from './not-run.ts'
import { type Replayed, replay } from './replay.ts'
import type { ScriptOperation } from './take-script.ts'

export type Question = Pick<ScriptOperation, 'kind' | 'cost' | 'extraNano' | 'requestId'> & {
  readonly buckets: readonly AskedBucket[]
}

/** What came of an operation that nobody waits for any more. */
export type Late = { readonly kind: 'ran'; readonly value: Replayed } | { readonly kind: LostFate }

export type Answered =
  | { readonly ok: true; readonly value: Replayed }
  | { readonly ok: false; readonly late: Promise<Late> }

export type Lane = {
  /** Runs one operation; not ok when the store fails, the lane is given up, or there is no answer at the deadline. */
  readonly ask: (key: string, question: Question, deadlineUs: number) => Promise<Answered>
  /** False while the lane is given up. */
  readonly isAnswering: () => boolean
}

type Options = {
  readonly run: RunScript
  readonly timers: Timers
  readonly randomness: Randomness
  readonly monotonicUs: () => number
  readonly onChange: (state: BreakerState) => void
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

const NOT_RUN: Answered = { ok: false, late: Promise.resolve({ kind: 'not_run' }) }
const UNKNOWN: Answered = { ok: false, late: Promise.resolve({ kind: 'unknown' }) }

/** One lane's takes, each with its deadline. A lane that fails again and again is given up: only a probe now and then waits for it. */
export const createLane = ({ run, timers, randomness, monotonicUs, onChange, tracing }: Options): Lane => {
  let isAnswering = true
  const breaker = createBreaker({
    monotonicClock: { monotonicUs },
    randomness,
    onChange: (state) => {
      isAnswering = state === 'closed'
      onChange(state)
    },
  })
  const queue = createLaneQueue(run, tracing)

  return {
    isAnswering: () => isAnswering,
    // Not async: each take would wait for one more promise.
    ask: (key, question, deadlineUs) => {
      const permit = breaker.admit()
      if (permit === undefined) return Promise.resolve(NOT_RUN)
      const { kind, buckets, cost } = question
      const waitUs = Math.max(0, deadlineUs - monotonicUs())
      return new Promise((resolve) => {
        let isSettled = false
        let tellLate: ((late: Late) => void) | undefined
        const queued: Queued = {
          operation: { ...question, key },
          // A debit is for what others asked before.
          span: kind === 'debit' ? undefined : tracing?.active(),
          settle: (outcome) => {
            isSettled = true
            cancelTimer()
            if (!outcome.ok) {
              if (tellLate !== undefined) return tellLate({ kind: outcome.fate })
              // However many takes it carried, one call that is lost is one failure.
              breaker.report(permit, outcome.fate !== 'refused' && outcome.isFirst ? 'failed' : 'inconclusive')
              return resolve(outcome.fate === 'unknown' ? UNKNOWN : NOT_RUN)
            }
            // A debit tells how the bucket stood before it.
            const value = replay(buckets, kind === 'debit' ? 0 : cost, outcome.result, outcome.place)
            if (tellLate !== undefined) return tellLate({ kind: 'ran', value })
            breaker.report(permit, 'answered')
            resolve({ ok: true, value })
          },
        }
        queue.add(queued)
        const expire = () => {
          if (isSettled) return
          // A loop that stood still is not the store's failure.
          const lagUs = monotonicUs() - deadlineUs
          breaker.report(permit, lagUs < waitUs / 2 + 1_000 ? 'failed' : 'inconclusive')
          if (queue.withdraw(queued)) return resolve(NOT_RUN)
          const late = new Promise<Late>((tell) => {
            tellLate = tell
          })
          resolve({ ok: false, late })
        }
        // What has arrived in the socket's buffer while the loop was busy still counts.
        const cancelTimer = timers.after(waitUs / 1000, () => timers.afterPoll(expire))
      })
    },
  }
}
