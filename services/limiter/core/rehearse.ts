import type { Attributes, DomainName } from '../../contract/check.ts'
import type { Decision, PolicyName } from '../../contract/decision.ts'
import { createCallsUnderWay } from './calls-under-way.ts'
import type { Limiter } from './limiter.ts'

/** What a request met, whoever was asked; `unknown` where no store counted, or where there was no answer. */
export type Met =
  | { readonly verdict: 'allow' | 'unknown' }
  | { readonly verdict: 'deny'; readonly policy: PolicyName; readonly attributes: Attributes }

export type Differences = {
  readonly compared: (domain: DomainName, live: Met, candidate: Met) => void
  /** Not rehearsed, because too many requests were at that moment. */
  readonly skipped: () => void
}

type Ports = {
  readonly live: Limiter
  /** Decides by other policies, on buckets of its own. */
  readonly candidate: Limiter
  /** Where a request that comes now is to be compared; undefined: it is not rehearsed. */
  readonly differences: (domain: DomainName, attributes: Attributes) => Differences | undefined
  /** Requests that are rehearsed at one time. */
  readonly maxInFlight: number
}

/**
 * The live limiter, beside which each question is put to the candidate too, in the same order. Nobody waits for the candidate and its
 * answer goes nowhere but into the comparison, so it changes no answer.
 */
export const rehearse = ({ live, candidate, differences, maxInFlight }: Ports): Limiter => {
  const inFlight = createCallsUnderWay(maxInFlight)

  const alongside = async (
    domain: DomainName,
    to: Differences,
    both: { readonly live: Promise<Met>; readonly candidate: () => Promise<Met> },
  ) => {
    if (!inFlight.enter()) {
      // The live answer is awaited by whoever asked.
      both.live.catch(() => {})
      return to.skipped()
    }
    // Both are under way before either is waited for.
    const [met, would] = await Promise.all([orUnknown(both.live), orUnknown(both.candidate())])
    inFlight.leave()
    to.compared(domain, met, would)
  }

  return {
    shouldAllow: (check) => {
      const answered = live.shouldAllow(check)
      const to = differences(check.domain, check.attributes)
      if (to !== undefined) {
        const met = async (asked: typeof answered) => {
          const checked = await asked
          return checked.ok ? metBy([checked.answer.decision], [check.attributes]) : UNKNOWN
        }
        void alongside(check.domain, to, {
          live: met(answered),
          candidate: () => met(candidate.shouldAllow(check)),
        })
      }
      return answered
    },

    shouldAllowTogether: (check) => {
      const answered = live.shouldAllowTogether(check)
      const { domain, parts } = check
      const to = differences(domain, parts[0]?.attributes ?? new Map())
      if (to !== undefined) {
        const attributes = parts.map((part) => part.attributes)
        const met = async (asked: typeof answered) => {
          const checked = await asked
          if (!checked.ok) return UNKNOWN
          const decisions = checked.answers.map(({ decision }) => decision)
          return metBy(decisions, attributes)
        }
        void alongside(domain, to, {
          live: met(answered),
          candidate: () => met(candidate.shouldAllowTogether(check)),
        })
      }
      return answered
    },

    peek: live.peek,

    reset: (check, policy) => {
      const done = live.reset(check, policy)
      // What an operator fills is full under the candidate too; that it does not know the policy is no fault.
      candidate.reset(check, policy).catch(() => {})
      return done
    },
  }
}

const UNKNOWN: Met = { verdict: 'unknown' }

/** A bug of the live limiter is told to whoever asked it; one of the candidate must not be felt. */
const orUnknown = (met: Promise<Met>) => met.catch(() => UNKNOWN)

/** Of a request in several parts: it is refused if one of them is, by that one. */
const metBy = (decisions: readonly Decision[], attributes: readonly Attributes[]): Met => {
  if (decisions.some(({ basis }) => basis === 'share' || basis === 'store_unavailable')) return UNKNOWN
  const index = decisions.findIndex(({ verdict }) => verdict === 'deny')
  const refusal = decisions[index]
  if (refusal?.verdict !== 'deny') return { verdict: 'allow' }
  return { verdict: 'deny', policy: refusal.policy, attributes: attributes[index] ?? new Map() }
}
