import type { Check } from '../../contract/check.ts'
import type { Asked } from '../channel/question.ts'

/** The way to the limiter. What a transport puts on the wire, and how many connections it keeps, is its own business. */
export type Transport = AsyncDisposable & {
  /**
   * Never rejects. `deadlineMs` is when the asker stops waiting, and the asker keeps that time itself: an answer may come
   * later, and is then for the record only. Every question ends, if only long after its deadline.
   */
  readonly ask: (check: Check, deadlineMs: number) => Promise<Asked>
}
