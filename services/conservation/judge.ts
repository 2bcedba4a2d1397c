import type { Call, History } from './history.ts'
import { type Totals, totalsOf } from './totals.ts'
import { type UnexplainedRefusal, unexplainedRefusals } from './unexplained-refusals.ts'
import { type Window, worstWindow } from './worst-window.ts'

export type Judgement = {
  /** Nothing below breaks the law by more than the bound of the faults. */
  readonly lawful: boolean
  /** The window in which most was admitted beyond the law, the bound of the faults not yet granted. */
  readonly worst: Window | undefined
  readonly unexplained: { readonly count: number; readonly first: readonly UnexplainedRefusal[] }
  readonly totals: Totals
}

const SHOWN = 5

/**
 * Judges a recorded history by the law of conservation: over any interval t, admitted ≤ capacity + rate·t + bound; every refusal is
 * explained by grants in some window; and under demand that never pauses, admitted ≥ capacity + rate·t − slack. Never accuses
 * a bucket that keeps the law, wherever within its call each decision fell: a call counts as admitted where it surely was, and as
 * charged where it may have been, so one without an answer only ever excuses. Exact, in O(n log n).
 */
export const judge = (history: History): Judgement => {
  for (const [index, call] of history.calls.entries()) requireSound(call, index)
  const worst = worstWindow(history)
  const unexplained = unexplainedRefusals(history)
  const totals = totalsOf(history)
  return {
    lawful:
      (worst?.excessTokens ?? 0) <= history.faultBound.overTokens &&
      unexplained.length === 0 &&
      totals.difference === 0,
    worst,
    unexplained: { count: unexplained.length, first: unexplained.slice(0, SHOWN) },
    totals,
  }
}

/** A recorder that writes nonsense must not pass for a bucket that keeps the law. */
const requireSound = ({ invokeUs, responseUs, cost }: Call, index: number) => {
  const sound = [invokeUs, responseUs, cost].every(Number.isSafeInteger) && invokeUs <= responseUs && cost >= 0
  if (!sound)
    throw new RangeError(
      `Call ${index} cannot have been: invoked at ${invokeUs} µs, answered at ${responseUs} µs, of ${cost} tokens`,
    )
}
