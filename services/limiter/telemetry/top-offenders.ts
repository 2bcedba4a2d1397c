import { createLabelled } from '../../platform/labelled.ts'
import { shownSubject } from './shown-subject.ts'
import { createSpaceSaving, type Frequent, mergeFrequent, type SpaceSaving } from './space-saving.ts'

/** Remembered of each policy. A subject with more than a thousandth of a policy's refusals is among them. */
const MAX_SUBJECTS = 1_000
const MINUTE_US = 60_000_000
const WINDOW_US = 5 * MINUTE_US
const SHOWN = 20

type Offender = { readonly subject: string; readonly refusedAtLeast: number; readonly refusedAtMost: number }

/** Whom policies refused most in this window and the one before, so of the last five to ten minutes. */
export type TopOffendersPage = {
  readonly lastMinutes: number
  readonly overall: readonly Offender[]
  readonly policies: readonly {
    readonly domain: string
    readonly policy: string
    readonly offenders: readonly Offender[]
  }[]
}

export type TopOffenders = {
  /** On the hot path. */
  readonly refused: (domain: string, policy: string, subject: string, nowUs: number) => void
  readonly read: (nowUs: number) => TopOffendersPage
}

type Windows = { startUs: number; current: SpaceSaving; previous: SpaceSaving }

export const createTopOffenders = (startUs: number, maxSubjects = MAX_SUBJECTS): TopOffenders => {
  const empty = () => createSpaceSaving(maxSubjects)
  const policies = createLabelled(
    ['domain', 'policy'],
    (): Windows => ({ startUs, current: empty(), previous: empty() }),
  )

  const turn = (windows: Windows, nowUs: number) => {
    const passed = Math.floor((nowUs - windows.startUs) / WINDOW_US)
    if (passed < 1) return
    windows.previous = passed === 1 ? windows.current : empty()
    windows.current = empty()
    windows.startUs += passed * WINDOW_US
  }

  return {
    refused: (domain, policy, subject, nowUs) => {
      const windows = policies.at(domain, policy)
      turn(windows, nowUs)
      windows.current.add(subject)
    },
    read: (nowUs) => {
      const seen = policies.read().map(({ labels, item }) => {
        turn(item, nowUs)
        return { ...labels, sketches: [item.previous, item.current] }
      })
      return {
        lastMinutes: rounded(Math.min(nowUs - startUs, WINDOW_US + ((nowUs - startUs) % WINDOW_US)) / MINUTE_US),
        overall: offenders(seen.flatMap(({ sketches }) => sketches)),
        policies: seen
          .map(({ sketches, ...labels }) => ({ ...labels, offenders: offenders(sketches) }))
          .filter((policy) => policy.offenders.length > 0),
      }
    },
  }
}

const rounded = (minutes: number) => Math.round(minutes * 10) / 10

const offenders = (sketches: readonly SpaceSaving[]) => mergeFrequent(sketches).slice(0, SHOWN).map(shown)

const shown = ({ key, atLeast, atMost }: Frequent): Offender => ({
  subject: shownSubject(key),
  refusedAtLeast: atLeast,
  refusedAtMost: atMost,
})
