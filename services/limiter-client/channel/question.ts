import type { Check } from '../../contract/check.ts'
import type { Answer } from '../../contract/decision.ts'
import type { TraceContext } from '../../contract/trace-context.ts'

/**
 * Why a question has no answer. `rejected`: the limiter says that the question itself is wrong, so the fault is ours.
 * `overloaded`: it was not asked. After the other two nobody knows whether it was charged.
 */
export type AskFailure = 'deadline_exceeded' | 'unavailable' | 'rejected' | 'overloaded'

export type Asked =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly failure: AskFailure; readonly detail: string }

/** A check on its way to a limiter. */
export type Question = {
  readonly check: Check
  /** Whom it is about, as a number: what is about the same goes to the same limiter. */
  readonly subject: number
  /** What the check is part of, for the limiter to go on with. */
  readonly trace: TraceContext | undefined
  /** When its asker stops waiting: after that it is not sent any more. */
  readonly endUs: number
  /** Told once. */
  readonly settle: (asked: Asked) => void
  /** It was lost on its way once, and is asked no third time. */
  readonly isRepeat: boolean
}
