import { type Call, createScale, type History, larger, replay } from './history.ts'

/** A refusal though the bucket must have held the cost for as long as the call was under way. */
export type UnexplainedRefusal = {
  readonly call: Call
  /** At no time of the call there was less. */
  readonly heldTokens: number
}

type Peak = { readonly atUs: number; readonly missing: bigint }

/**
 * Liveness: the refusals that nothing explains, in the order of their answers. A refusal of cost c is explained by an instant t of
 * its call and an s ≤ t such that what may have been charged in [s, t] > capacity + rate·(t − s) − c − bound: the bucket may have
 * held too little.
 *
 * What may have run in [s, t] was invoked by t and not answered before s, which is a difference of two running sums. So the most that
 * may be missing at t is  invoked(t) − rate·t + wasted(t),  where wasted(t), the refill that may have found the bucket full, is the
 * running maximum of rate·s − answered(s) over s ≤ t: one pass, Lindley's recursion (The theory of queues with a single server,
 * 1952) for arrivals known but for some overlap. Between invocations that only falls, so a refusal asks for the highest of the
 * invocations during its call, its own among them: on a stack of falling peaks the first that is young enough. O(n log n).
 *
 * Each charge counts for a nano-token more than its cost, since the bucket rounds its refill down by less than that at each grant.
 * A call without an answer may have been charged, so it explains as much as one that was.
 */
export const unexplainedRefusals = (history: History): readonly UnexplainedRefusal[] => {
  const scale = createScale(history)
  const capacity = scale.fromTokens(history.rule.capacityTokens)
  const bound = scale.fromBound(history.faultBound.underTokens)
  const charge = ({ verdict, cost }: Call) =>
    verdict === 'deny' || cost === 0 ? 0n : scale.fromTokens(cost) + scale.nanoToken
  let invoked = 0n
  let answered = 0n
  let wasted = 0n
  const peaks: Peak[] = []
  const unexplained: UnexplainedRefusal[] = []

  replay(history, {
    invoked: (call) => {
      const refilled = scale.refilledBy(call.invokeUs)
      wasted = larger(wasted, refilled - answered)
      invoked += charge(call)
      const missing = invoked - refilled + wasted
      while ((peaks.at(-1)?.missing ?? missing + 1n) <= missing) peaks.pop()
      peaks.push({ atUs: call.invokeUs, missing })
    },
    answered: (call) => {
      wasted = larger(wasted, scale.refilledBy(call.responseUs) - answered)
      answered += charge(call)
      if (call.verdict !== 'deny') return
      const held = capacity - highestSince(peaks, call.invokeUs)
      if (held >= scale.fromTokens(call.cost) + bound) unexplained.push({ call, heldTokens: scale.toTokens(held) })
    },
  })
  return unexplained
}

/** Of peaks that fall from the oldest to the youngest, the first that is young enough. */
const highestSince = (peaks: readonly Peak[], sinceUs: number) => {
  let from = 0
  let to = peaks.length - 1
  while (from < to) {
    const middle = (from + to) >> 1
    if ((peaks[middle]?.atUs ?? 0) < sinceUs) from = middle + 1
    else to = middle
  }
  return peaks[from]?.missing ?? 0n
}
