import { type Call, createScale, type History, larger, type Scale } from './history.ts'

/** A stretch of time that holds whole admitted calls. */
export type Window = {
  readonly startUs: number
  readonly endUs: number
  readonly admittedTokens: number
  /** Admitted beyond capacity + rate × duration: positive exactly when the window breaks the law; below 0 it is slack. */
  readonly excessTokens: number
}

/**
 * Safety: of all windows, the one in which most was admitted beyond what the law allows; undefined where nothing was. The law is
 * Cruz' burstiness constraint (A calculus for network delay, 1991): admitted(s, t) ≤ capacity + rate·(t − s) for all s ≤ t.
 *
 * A call counts if it lies in the window as a whole, for only then it surely ran in it. So windows from the invocation of one
 * admitted call to the response of another are all that need a look. Where calls overlap, admitted(s, t) is not a difference of two
 * running sums, and Kadane's running maximum would miss some of it. Instead the responses are visited in order of time, and a tree
 * over the calls in order of invocation keeps the best start: a maximum suffix sum, as in Bentley's divide and conquer
 * (Programming Pearls, 1984), of which each response changes one leaf and its ancestors. O(n log n).
 */
export const worstWindow = (history: History): Window | undefined => {
  const scale = createScale(history)
  const starts = history.calls
    .filter(({ verdict, cost }) => verdict === 'allow' && cost > 0)
    .sort((a, b) => a.invokeUs - b.invokeUs)
  const ends = starts
    .map(({ responseUs, invokeUs, cost }, leaf) => ({ responseUs, invokeUs, cost, leaf }))
    .sort((a, b) => a.responseUs - b.responseUs)
  const suffixes = createSuffixes(starts.length)
  let worst: { readonly amount: bigint; readonly endUs: number } | undefined
  for (const { responseUs, invokeUs, cost, leaf } of ends) {
    const best = suffixes.set(leaf, scale.fromTokens(cost), scale.refilledBy(invokeUs))
    const amount = best - scale.refilledBy(responseUs)
    if (worst === undefined || amount > worst.amount) worst = { amount, endUs: responseUs }
  }
  if (worst === undefined) return undefined
  const { startUs, admittedTokens } = worstStart(starts, worst.endUs, scale)
  return {
    startUs,
    endUs: worst.endUs,
    admittedTokens,
    excessTokens: scale.toTokens(worst.amount - scale.fromTokens(history.rule.capacityTokens)),
  }
}

/**
 * A row of sums, each with an offset, all 0 at first. `set` gives one of them its values and answers the greatest of:
 * the offset of an element plus the sum of all from it on. Each inner node knows its own sum and its own greatest.
 */
const createSuffixes = (length: number) => {
  const leaves = 2 ** Math.ceil(Math.log2(Math.max(1, length)))
  const sums = new Array<bigint>(2 * leaves).fill(0n)
  const greatest = new Array<bigint>(2 * leaves).fill(0n)
  return {
    set: (leaf: number, sum: bigint, offset: bigint) => {
      let node = leaves + leaf
      sums[node] = sum
      greatest[node] = sum + offset
      while (node > 1) {
        node >>= 1
        const rightSum = sums[2 * node + 1] ?? 0n
        sums[node] = (sums[2 * node] ?? 0n) + rightSum
        greatest[node] = larger((greatest[2 * node] ?? 0n) + rightSum, greatest[2 * node + 1] ?? 0n)
      }
      return greatest[1] ?? 0n
    },
  }
}

/** Where the worst window with this end begins. */
const worstStart = (starts: readonly Call[], endUs: number, { fromTokens, refilledBy }: Scale) => {
  let admittedTokens = 0
  let worst = { amount: -1n, startUs: endUs, admittedTokens }
  for (const { invokeUs, responseUs, cost } of starts.toReversed()) {
    if (responseUs > endUs) continue
    admittedTokens += cost
    const amount = fromTokens(admittedTokens) + refilledBy(invokeUs)
    if (amount > worst.amount) worst = { amount, startUs: invokeUs, admittedTokens }
  }
  return { startUs: worst.startUs, admittedTokens: worst.admittedTokens }
}
