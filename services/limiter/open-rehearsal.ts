import { crc32 } from 'node:zlib'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { systemWallClock } from '../seams/clock.ts'
import { createAudit } from './audit.ts'
import { createLimiter, type Limiter } from './core/limiter.ts'
import { silentObserver } from './core/observer.ts'
import type { PolicySets } from './core/policy.ts'
import { rehearse } from './core/rehearse.ts'
import type { BucketStore } from './core/store.ts'
import { changesOf, noChanges, type PolicyChanges } from './policies/changes.ts'
import { type LivePolicies, openWatchedPolicies, type PolicyStatus } from './policies/live.ts'
import { textDifference } from './policies/text-difference.ts'
import type { LimiterSettings } from './settings.ts'
import { type ComparisonPage, createComparison } from './telemetry/comparison.ts'
import { publishRehearsal } from './telemetry/rehearsal-metrics.ts'

/** Rehearsed at one time. More are not, and counted: a rehearsal must cost no live decision its time. */
const MAX_IN_FLIGHT = 1_024

export type RehearsalPage =
  | { readonly state: 'off'; readonly remedy: string }
  | {
      /** `waiting`: no candidate was good so far. */
      readonly state: 'waiting' | 'running'
      readonly candidate: PolicyStatus
      readonly subjectsPercent: number
      readonly comparison: ComparisonPage | undefined
      /** What the candidate has that the live policies have not. */
      readonly changes: PolicyChanges
      /** As `diff -u` shows it; absent when that is too long. */
      readonly text: string | undefined
    }

export type Rehearsal = AsyncDisposable & {
  /** What it was given, or that with the candidate beside it. */
  readonly limiter: Limiter
  readonly page: () => Promise<RehearsalPage>
}

type Options = {
  readonly settings: LimiterSettings
  readonly policies: LivePolicies
  readonly limiter: Limiter
  readonly openStore: () => BucketStore
  readonly metrics: Metrics
  readonly log: Log
}

/** Puts the candidate policies of `LIMITER_CANDIDATE_POLICIES` beside the live ones; without the setting nothing is there and nothing is spent. */
export const openRehearsal = async (options: Options): Promise<Rehearsal> => {
  const { settings, policies, limiter, openStore, metrics, log } = options
  const path = settings.LIMITER_CANDIDATE_POLICIES
  if (path === undefined)
    return { limiter, page: async () => SWITCHED_OFF, [Symbol.asyncDispose]: () => Promise.resolve() }

  const audit = createAudit(log, path, 'candidate')
  const candidate = await openWatchedPolicies({ path, onReload: audit.reloaded })
  const tell = candidate.status().generation === 0 ? audit.reloaded : audit.loaded
  tell(candidate.status(), changesOf(new Map(), candidate.current()))
  const sets = () => (candidate.status().generation === 0 ? undefined : candidate.current())
  const comparison = createComparison({ live: policies.current, candidate: sets, nowUs: systemWallClock.nowUs })
  publishRehearsal(metrics, comparison, candidate.status)
  const describe = createDescribe(policies, candidate)
  const subjectsPercent = settings.LIMITER_CANDIDATE_SUBJECTS_PERCENT
  const isChosen = (subject: string) => subjectsPercent === 100 || crc32(subject) % 100 < subjectsPercent
  return {
    limiter: rehearse({
      live: limiter,
      candidate: createCandidate(candidate.current, openStore()),
      differences: (domain, attributes) => {
        const subject = policies.current().get(domain)?.subject ?? ''
        return isChosen(attributes.get(subject) ?? '') ? comparison.current() : undefined
      },
      maxInFlight: MAX_IN_FLIGHT,
    }),
    page: async () => ({
      state: sets() === undefined ? 'waiting' : 'running',
      candidate: candidate.status(),
      subjectsPercent,
      comparison: comparison.read(),
      ...(sets() === undefined ? { changes: noChanges, text: undefined } : await describe()),
    }),
    [Symbol.asyncDispose]: () => candidate[Symbol.asyncDispose](),
  }
}

const SWITCHED_OFF = {
  state: 'off',
  remedy:
    'set LIMITER_CANDIDATE_POLICIES to a policy file or a folder of them, and it is rehearsed beside the live one',
} as const

const createCandidate = (policies: () => PolicySets, store: BucketStore) =>
  createLimiter({
    policies,
    store,
    // What the store does not count is not compared.
    localStore: { take: async () => ({ kind: 'unavailable', settle: async () => [] }) },
    observer: silentObserver,
  })

type Described = Pick<Extract<RehearsalPage, { state: 'running' | 'waiting' }>, 'changes' | 'text'>

/** What one set of files says beside another, found once for each two of them. */
const createDescribe = (policies: LivePolicies, candidate: LivePolicies) => {
  let last:
    | { readonly live: PolicySets; readonly candidate: PolicySets; readonly found: Promise<Described> }
    | undefined
  return () => {
    const [live, other] = [policies.current(), candidate.current()]
    if (last?.live === live && last.candidate === other) return last.found
    const find = async () => ({
      changes: changesOf(live, other),
      text: await textDifference(policies.files(), candidate.files()),
    })
    last = { live, candidate: other, found: find() }
    return last.found
  }
}
