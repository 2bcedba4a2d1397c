// The log lines that tell who changed what is enforced. Their `event` names stay: an auditor searches for them.
import type { Log } from '../platform/log.ts'
import { cutOpaque } from '../platform/opaque.ts'
import type { AdminCallLog } from './core/admin-call-log.ts'
import type { PolicyChanges } from './policies/changes.ts'
import type { PolicyStatus } from './policies/live.ts'
import { formatProblem, type PolicyProblem } from './policies/problem.ts'

/** As many names as a line tells of each kind of change; the rest are counted. */
const MAX_NAMES = 100

export type AdminCall = Parameters<AdminCallLog>[0]

/** `source`: the file or folder that the policies are of. A candidate is rehearsed, and enforced by nobody. */
export const createAudit = (log: Log, source: string, kind: 'policies' | 'candidate' = 'policies') => {
  const by = 'policy files'
  const what = kind === 'policies' ? 'policies' : 'candidate policies'

  const loaded = ({ generation, digest }: PolicyStatus, changes: PolicyChanges) =>
    log.info(
      { event: `${kind}.loaded`, by, source, generationBefore: 0, generation, digest, ...bounded(changes) },
      `${what} loaded`,
    )

  const reloaded = ({ lastReload, generation, digest, problems }: PolicyStatus, changes: PolicyChanges) => {
    if (lastReload === 'accepted') {
      const generationBefore = generation - 1
      log.info(
        { event: `${kind}.reloaded`, by, source, generationBefore, generation, digest, ...bounded(changes) },
        `${what} reloaded`,
      )
      return
    }
    log.error(
      {
        event: `${kind}.rejected`,
        by,
        source,
        generationBefore: generation,
        generation,
        digest,
        problems: problems.slice(0, MAX_NAMES).map(shownProblem),
        unsaid: Math.max(0, problems.length - MAX_NAMES),
      },
      `${what} rejected; the last good ones stay in force`,
    )
  }

  /** Whoever resets shows the admin token, so it is the peer that tells one from another. */
  const reset = ({ peer, result, asked, policies = [] }: AdminCall, generation: number) =>
    log.info(
      { event: 'bucket.reset', by: 'admin token', peer, result, asked, policies, generation },
      result === 'done' ? 'buckets reset' : 'a reset failed',
    )

  return { loaded, reloaded, reset }
}

const bounded = ({ added, changed, removed }: PolicyChanges) => ({
  added: added.slice(0, MAX_NAMES),
  changed: changed.slice(0, MAX_NAMES),
  removed: removed.slice(0, MAX_NAMES),
  unsaid: [added, changed, removed].reduce((sum, names) => sum + Math.max(0, names.length - MAX_NAMES), 0),
})

/** A problem quotes what it is about, which may be a credential in the wrong place. */
export const shownProblem = (problem: PolicyProblem) =>
  formatProblem({ ...problem, path: cutOpaque(problem.path), problem: cutOpaque(problem.problem) })
