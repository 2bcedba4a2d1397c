import type { PolicySet } from './policy.ts'

/**
 * The same function of a set of policies, which is not asked again of what it has been asked of, as long as both are there: what is
 * kept goes with the set after a reload, and with the question when nobody else holds that.
 */
export const memoized = <Question extends object, Result>(
  ask: (set: PolicySet, question: Question) => Result,
): ((set: PolicySet, question: Question) => Result) => {
  const bySet = new WeakMap<PolicySet, WeakMap<Question, Result>>()
  return (set, question) => {
    const kept = bySet.get(set) ?? new WeakMap<Question, Result>()
    const known = kept.get(question)
    if (known !== undefined) return known
    const result = ask(set, question)
    bySet.set(set, kept.set(question, result))
    return result
  }
}
