import type { Rule } from '../bucket/rule.ts'
import type { Verdict } from '../contract/decision.ts'

/**
 * One question to one bucket, as its caller saw it, on one monotonic clock that all callers share. The bucket counted it, or not, at
 * one instant from `invokeUs` to `responseUs`: both are whole, the first rounded down and the second up. A refusal by
 * another bucket of the same request, or by nobody's count, does not belong here as a refusal.
 */
export type Call = {
  readonly invokeUs: number
  /** For a call without an answer: the last instant at which it may still have run, at worst the end of the history. */
  readonly responseUs: number
  readonly cost: number
  /** `unknown`: nobody can say whether the bucket was charged. */
  readonly verdict: Verdict | 'unknown'
  /** By a share or a fallback, not by the bucket that all share. */
  readonly decidedLocally: boolean
}

/**
 * What a caller records of a call without an answer ends when the caller saw the error. But whoever was asked may have died with its own
 * call of the store under way, which runs when the store comes to it: so such a call ends with the history.
 */
export const withOpenEnds = (calls: readonly Call[]): readonly Call[] => {
  const endUs = calls.reduce((last, { responseUs }) => Math.max(last, responseUs), 0)
  return calls.map((call) => (call.verdict === 'unknown' ? { ...call, responseUs: endUs } : call))
}

/** By how much the faults that were injected may break the law, in tokens. 0 and 0 where there were none. */
export type FaultBound = { readonly overTokens: number; readonly underTokens: number }

/**
 * Everything that was asked of one bucket: full when the first call was sent, refilled by one rule, charged by nobody else. Its
 * store's clock and the callers' run at one speed; where they drift by a part p, the bound contains p × rate × duration.
 */
export type History = { readonly rule: Rule; readonly calls: readonly Call[]; readonly faultBound: FaultBound }

/** Visits invocations and answers in the order of time. At one instant what begins comes first: such calls overlap. */
export const replay = (
  { calls }: History,
  visit: { readonly invoked: (call: Call) => void; readonly answered: (call: Call) => void },
) => {
  const byInvoke = calls.toSorted((a, b) => a.invokeUs - b.invokeUs).values()
  let next = byInvoke.next()
  for (const call of calls.toSorted((a, b) => a.responseUs - b.responseUs)) {
    for (; !next.done && next.value.invokeUs <= call.responseUs; next = byInvoke.next()) visit.invoked(next.value)
    visit.answered(call)
  }
}

const NANO = 1_000_000_000n

export type Scale = ReturnType<typeof createScale>

/**
 * Amounts without any rounding: whole numbers (BigInt) of 1/(10⁹·P) tokens for a refill of N tokens per P seconds, because in this unit
 * a token, a nano-token and the refill of a microsecond are all whole. Time counts from the first invocation.
 */
export const createScale = ({ rule, calls }: History) => {
  const nanoToken = BigInt(rule.periodS)
  const token = NANO * nanoToken
  const refillOfUs = 1000n * BigInt(rule.refillTokens)
  const originUs = calls.reduce((first, { invokeUs }) => Math.min(first, invokeUs), Number.POSITIVE_INFINITY)
  return {
    /** The bucket loses less than this to rounding at each grant. */
    nanoToken,
    fromTokens: (tokens: number) => BigInt(tokens) * token,
    /** Of a bound, which may be a fraction: to the nearest nano-token. */
    fromBound: (tokens: number) => BigInt(Math.round(tokens * 1e9)) * nanoToken,
    refilledBy: (us: number) => BigInt(us - originUs) * refillOfUs,
    /** In nano-tokens rounded up, so that what is positive stays positive. */
    toTokens: (amount: bigint) => Number(ceilDivide(amount, nanoToken)) / 1e9,
    toWholeTokens: (amount: bigint) => Number(-ceilDivide(-amount, token)),
  }
}

export const larger = (a: bigint, b: bigint) => (a > b ? a : b)

// BigInt's own division drops the fraction: upwards below 0, downwards above.
const ceilDivide = (a: bigint, b: bigint) => (a > 0n ? (a + b - 1n) / b : a / b)
