import type { Attributes, DomainName } from '../../contract/check.ts'
import type { PolicyName } from '../../contract/decision.ts'
import { createLabelled } from '../../platform/labelled.ts'
import type { PolicySets } from '../core/policy.ts'
import type { Differences, Met } from '../core/rehearse.ts'
import { shownSubject } from './shown-subject.ts'
import { createSpaceSaving, type SpaceSaving } from './space-saving.ts'

/** Remembered of each policy and kind of difference: up to so many subjects the counts are exact. */
const MAX_SUBJECTS = 1_000
const SHOWN = 20

/** Requests that met the same, by the policy that refuses them now or would. */
export type Affected = {
  readonly requests: number
  readonly top: readonly { readonly subject: string; readonly atLeast: number; readonly atMost: number }[]
}

export type ComparisonPage = {
  /** When the policies that are compared met: a change of either begins anew. */
  readonly sinceUs: number
  readonly compared: number
  readonly wouldBeRefused: number
  readonly wouldBeLetIn: number
  /** Not counted by the store, or without an answer by one of both. */
  readonly unknown: number
  /** More came than were rehearsed at one time. */
  readonly skipped: number
  readonly policies: readonly {
    readonly domain: DomainName
    readonly policy: PolicyName
    readonly wouldBeRefused: Affected
    readonly wouldBeLetIn: Affected
  }[]
}

const results = ['same', 'would_be_refused', 'would_be_let_in', 'unknown', 'skipped'] as const
export type ComparisonResult = (typeof results)[number]
type Counts = Record<ComparisonResult, number>

const noCounts = (): Counts => ({ same: 0, would_be_refused: 0, would_be_let_in: 0, unknown: 0, skipped: 0 })

export type Comparison = {
  /** Where a request of now is compared; undefined while there is no candidate. */
  readonly current: () => Differences | undefined
  readonly read: () => ComparisonPage | undefined
  /** Since the process began. */
  readonly totals: () => readonly { readonly result: ComparisonResult; readonly value: number }[]
}

type Options = {
  readonly live: () => PolicySets
  /** Undefined: there is none now. */
  readonly candidate: () => PolicySets | undefined
  readonly nowUs: () => number
  readonly maxSubjects?: number
}

/** Counts what requests met, and would have met by other policies. */
export const createComparison = ({ live, candidate, nowUs, maxSubjects = MAX_SUBJECTS }: Options): Comparison => {
  const totals = noCounts()
  let running: Running | undefined

  const current = () => {
    const sets = { live: live(), candidate: candidate() }
    if (sets.candidate === undefined) running = undefined
    else if (running === undefined || running.live !== sets.live || running.candidate !== sets.candidate)
      running = begin({ live: sets.live, candidate: sets.candidate, sinceUs: nowUs(), totals, maxSubjects })
    return running
  }

  return {
    current,
    read: () => current()?.read(),
    totals: () => results.map((result) => ({ result, value: totals[result] })),
  }
}

type Pair = { readonly live: PolicySets; readonly candidate: PolicySets; readonly sinceUs: number }
type Running = Differences & Pair & { readonly read: () => ComparisonPage }
type Direction = { requests: number; readonly subjects: SpaceSaving }

const begin = ({
  totals,
  maxSubjects,
  ...pair
}: Pair & { readonly totals: Counts; readonly maxSubjects: number }): Running => {
  const counts = noCounts()
  const count = (result: ComparisonResult) => {
    counts[result] += 1
    totals[result] += 1
  }
  const direction = (): Direction => ({ requests: 0, subjects: createSpaceSaving(maxSubjects) })
  const byPolicy = createLabelled(['domain', 'policy'], () => ({ refused: direction(), letIn: direction() }))

  const affect = (affected: Direction, domain: DomainName, attributes: Attributes) => {
    affected.requests += 1
    affected.subjects.add(attributes.get(pair.live.get(domain)?.subject ?? '') ?? '')
  }

  return {
    ...pair,
    skipped: () => count('skipped'),
    compared: (domain, met, would) => {
      const result = resultOf(met, would)
      count(result)
      if (met.verdict === 'deny' && result === 'would_be_let_in')
        affect(byPolicy.at(domain, met.policy).letIn, domain, met.attributes)
      if (would.verdict === 'deny' && result === 'would_be_refused')
        affect(byPolicy.at(domain, would.policy).refused, domain, would.attributes)
    },
    read: () => ({
      sinceUs: pair.sinceUs,
      compared: counts.same + counts.would_be_refused + counts.would_be_let_in,
      wouldBeRefused: counts.would_be_refused,
      wouldBeLetIn: counts.would_be_let_in,
      unknown: counts.unknown,
      skipped: counts.skipped,
      policies: byPolicy.read().map(({ labels, item }) => ({
        domain: labels.domain as DomainName,
        policy: labels.policy as PolicyName,
        wouldBeRefused: shown(item.refused),
        wouldBeLetIn: shown(item.letIn),
      })),
    }),
  }
}

const resultOf = (met: Met, would: Met): ComparisonResult => {
  if (met.verdict === 'unknown' || would.verdict === 'unknown') return 'unknown'
  if (met.verdict === would.verdict) return 'same'
  return would.verdict === 'deny' ? 'would_be_refused' : 'would_be_let_in'
}

const shown = ({ requests, subjects }: Direction): Affected => ({
  requests,
  top: subjects
    .read()
    .slice(0, SHOWN)
    .map(({ key, ...range }) => ({ subject: shownSubject(key), ...range })),
})
