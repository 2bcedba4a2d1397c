import type { DomainName } from '../../contract/check.ts'
import type { Answer } from '../../contract/decision.ts'
import type { Observer } from '../core/observer.ts'
import { shownSubject } from './shown-subject.ts'
import type { TopOffenders } from './top-offenders.ts'

const LOG_US = 10_000_000

type Options = {
  readonly observer: Observer
  readonly top: TopOffenders
  /** The attribute that a domain charges requests to. */
  readonly subjectOf: (domain: DomainName) => string | undefined
  readonly log: (refusal: Readonly<Record<string, unknown>>) => void
  readonly monotonicUs: () => number
}

type Check = Parameters<Observer['answered']>[0]
/** Nobody offends by asking while the store is away. */
type Refusal = Extract<Answer['decision'], { verdict: 'deny' }>

/** The observer, which also tells of refusals whom they met: to the sketch of top offenders each, to the log one in ten seconds. */
export const observeRefusals = ({ observer, top, subjectOf, log, monotonicUs }: Options): Observer => {
  let logAtUs = Number.NEGATIVE_INFINITY
  let unsaid = 0

  const refused = ({ domain, attributes }: Check, refusal: Refusal) => {
    const nowUs = monotonicUs()
    const subject = attributes.get(subjectOf(domain) ?? '') ?? ''
    top.refused(domain, refusal.policy, subject, nowUs)
    unsaid += 1
    if (nowUs < logAtUs) return
    const { policy, basis } = refusal
    log({ domain, policy, basis, subject: shownSubject(subject), unsaid: unsaid - 1 })
    logAtUs = nowUs + LOG_US
    unsaid = 0
  }

  return {
    ...observer,
    answered: (check, answer, asked) => {
      observer.answered(check, answer, asked)
      const decision = answer?.decision
      if (decision?.verdict === 'deny' && decision.basis !== 'store_unavailable') refused(check, decision)
    },
  }
}
