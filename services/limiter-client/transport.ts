import type { Check } from '../contract/check.ts'
import type { Answer } from '../contract/decision.ts'

/**
 * Why a question has no answer. `rejected`: the limiter says that the question itself is wrong, so the fault is ours;
 * after the other two nobody knows whether it was charged.
 */
export type AskFailure = 'deadline_exceeded' | 'unavailable' | 'rejected'

export type Asked =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly failure: AskFailure; readonly detail: string }

/** The way to the limiter. What a transport puts on the wire, and how many connections it keeps, is its own business. */
export type Transport = AsyncDisposable & {
  /**
   * Never rejects. `deadlineMs` is when the asker stops waiting, and the asker keeps that time itself: an answer may come
   * later, and is then for the record only. Every question ends, if only long after its deadline.
   */
  readonly ask: (check: Check, deadlineMs: number) => Promise<Asked>
}
