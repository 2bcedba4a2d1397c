import { unwatchFile, watchFile } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'

/** What a file holds that may change while it is in use. */
export type LiveFile<Value> = Disposable & { readonly current: () => Value }

/** What a file holds, or everything that is wrong with it, for a person to read. */
export type FileContent<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly string[] }

export type OpenLiveFile<Value> =
  | { readonly ok: true; readonly file: LiveFile<Value> }
  | { readonly ok: false; readonly problems: readonly string[] }

type Options<Value> = {
  readonly path: string
  readonly parse: (text: string) => FileContent<Value>
  /** Told of every reload. One with problems has left the last good content in force. */
  readonly onReload: (reload: FileContent<Value>) => void
  /** How often the file is looked at, and how long a change must stand still before it is believed. */
  readonly pollMs?: number
  readonly settleMs?: number
}

const POLL_MS = 1_000
const SETTLE_MS = 100
const MAX_BYTES = 8 * 1024 * 1024

/** Reads the file now, and again whenever it has changed. */
export const openLiveFile = async <Value>({
  path,
  parse,
  onReload,
  pollMs = POLL_MS,
  settleMs = SETTLE_MS,
}: Options<Value>): Promise<OpenLiveFile<Value>> => {
  const opened = Promise.withResolvers<void>()
  let reloads = opened.promise
  const changed = () => {
    reloads = reloads.then(() => reload())
  }
  // It compares what the path leads to, so it also sees Kubernetes swap the symbolic link of a mounted secret. It begins
  // before the first read: a change in between is read twice rather than not at all.
  watchFile(path, { interval: pollMs, persistent: false }, changed)
  const first = parseRead(await readText(path), parse)
  if (!first.ok) {
    unwatchFile(path, changed)
    return first
  }
  let { value } = first
  let isClosed = false
  const reload = async () => {
    const content = parseRead(await readSettled(path, settleMs), parse)
    if (isClosed) return
    if (content.ok) value = content.value
    onReload(content)
  }
  opened.resolve()
  return {
    ok: true,
    file: {
      current: () => value,
      [Symbol.dispose]: () => {
        isClosed = true
        unwatchFile(path, changed)
      },
    },
  }
}

type ReadText = { readonly ok: true; readonly text: string } | { readonly ok: false; readonly problem: string }

const readText = async (path: string): Promise<ReadText> => {
  try {
    const { size } = await stat(path)
    if (size > MAX_BYTES) return { ok: false, problem: `${path} is larger than ${MAX_BYTES} bytes` }
    return { ok: true, text: await readFile(path, 'utf8') }
  } catch (error) {
    return { ok: false, problem: `${path} cannot be read: ${error instanceof Error ? error.message : String(error)}` }
  }
}

/** What two readings in a row agree on: a file half written may look like a whole one. */
const readSettled = async (path: string, settleMs: number): Promise<ReadText> => {
  for (let last = await readText(path); ; ) {
    await delay(settleMs, undefined, { ref: false })
    const now = await readText(path)
    if (now.ok ? last.ok && last.text === now.text : !last.ok && last.problem === now.problem) return now
    last = now
  }
}

const parseRead = <Value>(read: ReadText, parse: Options<Value>['parse']): FileContent<Value> =>
  read.ok ? parse(read.text) : { ok: false, problems: [read.problem] }
