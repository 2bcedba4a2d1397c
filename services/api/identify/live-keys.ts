import { unwatchFile, watchFile } from 'node:fs'
import type { ApiKeys } from './api-keys.ts'
import { readKeyFile } from './key-file.ts'

/** The keys of a file that may change while they are in use. */
export type LiveKeys = Disposable & { readonly current: () => ApiKeys }

export type OpenLiveKeys =
  | { readonly ok: true; readonly keys: LiveKeys }
  | { readonly ok: false; readonly problems: readonly string[] }

export type KeysReload =
  | { readonly ok: true; readonly keys: number }
  | { readonly ok: false; readonly problems: readonly string[] }

type Options = {
  readonly path: string
  readonly pollMs: number
  /** Told of every reload. One with problems has left the last good keys in force. */
  readonly onReload: (reload: KeysReload) => void
}

/** Reads the file now and whenever it changes. */
export const openLiveKeys = async ({ path, pollMs, onReload }: Options): Promise<OpenLiveKeys> => {
  let keys: ApiKeys = new Map()
  const read = async () => {
    const result = await readKeyFile(path)
    if (result.ok) keys = result.keys
    return result
  }
  const first = Promise.withResolvers<void>()
  let reloads = first.promise
  const changed = () => {
    reloads = reloads.then(async () => {
      const result = await read()
      onReload(result.ok ? { ok: true, keys: result.keys.size } : result)
    })
  }
  // It compares what the path leads to, so it also sees Kubernetes swap the symbolic link of a mounted secret. It begins
  // before the first read: a change in between is read twice rather than not at all.
  watchFile(path, { interval: pollMs, persistent: false }, changed)
  const result = await read()
  if (!result.ok) {
    unwatchFile(path, changed)
    return result
  }
  first.resolve()
  return { ok: true, keys: { current: () => keys, [Symbol.dispose]: () => unwatchFile(path, changed) } }
}
