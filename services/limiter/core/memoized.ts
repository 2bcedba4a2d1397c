import { oncePer } from './once-per.ts'
import type { PolicySet } from './policy.ts'

/**
 * The same function of a set of policies, which is not asked again of what it has been asked of, as long as both are there: what is
 * kept goes with the set after a reload, and with the question when nobody else holds that.
 */
export const memoized = <Question extends object, Result>(
  ask: (set: PolicySet, question: Question) => Result,
): ((set: PolicySet, question: Question) => Result) => {
  const askOf = oncePer((set: PolicySet) => oncePer((question: Question) => ask(set, question)))
  return (set, question) => askOf(set)(question)
}
