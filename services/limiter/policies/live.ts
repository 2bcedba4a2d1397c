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
  /** The files that these are from. */
  readonly files: () => readonly PolicyFile[]
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

/** Policies without which nothing starts. */
export const openLivePolicies = async (options: Options): Promise<OpenedLivePolicies> => {
  const policies = await openWatchedPolicies(options)
  const { generation, problems } = policies.status()
  if (generation > 0) return { ok: true, policies }
  await policies[Symbol.asyncDispose]()
  return { ok: false, problems }
}

/** Policies that may have mistakes from the start: until some are accepted the generation is 0 and no domain is known. */
export const openWatchedPolicies = async ({
  path,
  onReload,
  timers = systemTimers,
  clock = systemWallClock,
}: Options): Promise<LivePolicies> => {
  const closing = new AbortController()
  const load = (read: ReadFiles) => loadSets(read, timers, closing.signal)
  const initial = await readPolicyFiles(path)

  type Live = Omit<Loaded, 'digest'> & { readonly status: PolicyStatus }
  const accepted = ({ sets, files, digest }: Loaded, before: PolicyStatus): Live => ({
    sets,
    files,
    status: {
      generation: before.generation + 1,
      digest,
      loadedAtUs: clock.nowUs(),
      lastReload: 'accepted',
      rejectedReloads: before.rejectedReloads,
      problems: [],
    },
  })
  const rejected = ({ status, ...inForce }: Live, problems: readonly PolicyProblem[]): Live => ({
    ...inForce,
    status: { ...status, lastReload: 'rejected', rejectedReloads: status.rejectedReloads + 1, problems },
  })
  const next = (before: Live, loaded: LoadedSets) =>
    loaded.ok ? accepted(loaded, before.status) : rejected(before, loaded.problems)
  let live = next({ sets: new Map(), files: [], status: NOTHING_LOADED }, await load(initial))
  const reload = async (read: ReadFiles) => {
    const loaded = await load(read)
    if (closing.signal.aborted) return
    const before = live.sets
    live = next(live, loaded)
    onReload(live.status, loaded.ok ? changesOf(before, loaded.sets) : noChanges)
  }

  const watch = watchPolicyFiles({ path, timers, initial, onChange: reload })
  return {
    current: () => live.sets,
    status: () => live.status,
    files: () => live.files,
    [Symbol.asyncDispose]: async () => {
      closing.abort()
      await watch[Symbol.asyncDispose]()
    },
  }
}

const NOTHING_LOADED: PolicyStatus = {
  generation: 0,
  digest: '',
  loadedAtUs: 0,
  lastReload: 'rejected',
  rejectedReloads: 0,
  problems: [],
}

type Loaded = { readonly sets: PolicySets; readonly files: readonly PolicyFile[]; readonly digest: string }
type LoadedSets = ({ readonly ok: true } & Loaded) | { readonly ok: false; readonly problems: readonly PolicyProblem[] }

const loadSets = async (read: ReadFiles, timers: Timers, signal: AbortSignal): Promise<LoadedSets> => {
  if (!read.ok) return read
  const parsed = await parseAside(read.files, { timers, signal })
  return parsed.ok ? { ok: true, sets: parsed.sets, files: read.files, digest: digestOf(read.files) } : parsed
}

const digestOf = (files: readonly PolicyFile[]) =>
  createHash('sha256')
    .update(JSON.stringify(files.map(({ text }) => text)))
    .digest('hex')
    .slice(0, 16)
