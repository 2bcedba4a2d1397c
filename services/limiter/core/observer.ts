import type { Check, DomainName } from '../../contract/check.ts'
import type { Answer } from '../../contract/decision.ts'
import type { CountingPolicy } from './policy.ts'

/** Told of every check, on the hot path: implementations allocate nothing and never throw. */
export type Observer = {
  /** A check of a known domain is about to be counted. What this returns is given back with its answer. */
  readonly asked: () => number
  /** No answer: a bug was met. */
  readonly answered: (check: Pick<Check, 'domain' | 'attributes'>, answer: Answer | undefined, asked: number) => void
  /** The policy's conditions hold, but the request lacks an attribute that it counts by. */
  readonly uncountable: (domain: DomainName, policy: CountingPolicy) => void
}

export const silentObserver: Observer = { asked: () => 0, answered: () => {}, uncountable: () => {} }
