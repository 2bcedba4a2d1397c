import { createHash } from 'node:crypto'
import { systemWallClock, type WallClock } from '../../seams/clock.ts'
import { systemTimers, type Timers } from '../../seams/timers.ts'
import type { PolicySets } from '../core/policy.ts'
import { changesOf, noChanges, type PolicyChanges } from './changes.ts'
import { parseAside } from './parse-aside.ts'
import type { PolicyFile, PolicyProblem } from './problem.ts'
import { type ReadFiles, readPolicyFiles } from './read.ts'
import { watchPolicyFiles } from './watch.ts'

export type PolicyStatus = {
  /** How many times policies were accepted, the start included. */
  readonly generation: number
  /** Of the files in force: the same wherever the same policies are, so that replicas can be compared. */
  readonly digest: string
  readonly loadedAtUs: number
  readonly lastReload: 'accepted' | 'rejected'
  /** How many times policies were refused. */
  readonly rejectedReloads: number
  /** Why the last reload was rejected. */
  readonly problems: readonly PolicyProblem[]
}

/** The last good policies of a file or folder that is watched. */
export type LivePolicies = AsyncDisposable & {
  readonly current: () => PolicySets
  readonly status: () => PolicyStatus
}

export type OpenedLivePolicies =
  | { readonly ok: true; readonly policies: LivePolicies }
  | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

type Options = {
  /** A policy file, or a folder of them. */
  readonly path: string
  /** Told of each reload once, accepted or rejected, after it took effect. */
  readonly onReload: (status: PolicyStatus, changes: PolicyChanges) => void
  readonly timers?: Timers
  readonly clock?: WallClock
}

export const openLivePolicies = async ({
  path,
  onReload,
  timers = systemTimers,
  clock = systemWallClock,
}: Options): Promise<OpenedLivePolicies> => {
  const closing = new AbortController()
  const load = (read: ReadFiles) => loadSets(read, timers, closing.signal)
  const initial = await readPolicyFiles(path)
  const first = await load(initial)
  if (!first.ok) return first

  type Live = { readonly sets: PolicySets; readonly status: PolicyStatus }
  const accepted = ({ sets, digest }: Loaded, before?: PolicyStatus): Live => ({
    sets,
    status: {
      generation: (before?.generation ?? 0) + 1,
      digest,
      loadedAtUs: clock.nowUs(),
      lastReload: 'accepted',
      rejectedReloads: before?.rejectedReloads ?? 0,
      problems: [],
    },
  })
  const rejected = ({ sets, status }: Live, problems: readonly PolicyProblem[]): Live => ({
    sets,
    status: { ...status, lastReload: 'rejected', rejectedReloads: status.rejectedReloads + 1, problems },
  })
  let live = accepted(first)
  const reload = async (read: ReadFiles) => {
    const loaded = await load(read)
    if (closing.signal.aborted) return
    const before = live.sets
    live = loaded.ok ? accepted(loaded, live.status) : rejected(live, loaded.problems)
    onReload(live.status, loaded.ok ? changesOf(before, loaded.sets) : noChanges)
  }

  const watch = watchPolicyFiles({ path, timers, initial, onChange: reload })
  const policies: LivePolicies = {
    current: () => live.sets,
    status: () => live.status,
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await watch[Symbol.asyncDispose]()
    },
  }
  return { ok: true, policies }
}

type Loaded = { readonly sets: PolicySets; readonly digest: string }
type LoadedSets = ({ readonly ok: true } & Loaded) | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

const loadSets = async (read: ReadFiles, timers: Timers, signal: AbortSignal): Promise<LoadedSets> => {
  if (!read.ok) return read
  const parsed = await parseAside(read.files, { timers, signal })
  return parsed.ok ? { ok: true, sets: parsed.sets, digest: digestOf(read.files) } : parsed
}

const digestOf = (files: readonly PolicyFile[]) =>
  createHash('sha256')
    .update(JSON.stringify(files.map(({ text }) => text)))
    .digest('hex')
    .slice(0, 16)
