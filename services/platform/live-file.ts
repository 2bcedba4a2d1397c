import { unwatchFile, watchFile } from 'node:fs'
import { readFile, stat } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'

/** What a file holds that may change while it is in use. */
export type LiveFile<Value> = Disposable & { readonly current: () => Value }

/** What a file holds, or everything that is wrong with it, for a person to read. */
export type FileContent<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly problems: readonly string[] }

export type OpenLiveFile<Value> =
  | { readonly ok: true; readonly file: LiveFile<Value> }
  | { readonly ok: false; readonly problems: readonly string[] }

type Options<Name extends string, Value> = {
  readonly paths: Readonly<Record<Name, string>>
  readonly parse: (texts: Readonly<Record<Name, string>>) => FileContent<Value>
  /** Told of every reload. One with problems has left the last good content in force. */
  readonly onReload: (reload: FileContent<Value>) => void
  /** How often the files are looked at, and how long a change must stand still before it is believed. */
  readonly pollMs?: number
  readonly settleMs?: number
}

const POLL_MS = 1_000
const SETTLE_MS = 100
const MAX_BYTES = 8 * 1024 * 1024

/** Reads the file now, and again whenever it has changed. */
export const openLiveFile = <Value>({
  path,
  parse,
  ...options
}: Omit<Options<'file', Value>, 'paths' | 'parse'> & {
  readonly path: string
  readonly parse: (text: string) => FileContent<Value>
}): Promise<OpenLiveFile<Value>> =>
  openLiveFiles({ ...options, paths: { file: path }, parse: ({ file }) => parse(file) })

/** Reads files that make sense only together now, and again whenever one of them has changed. */
export const openLiveFiles = async <Name extends string, Value>({
  paths,
  parse,
  onReload,
  pollMs = POLL_MS,
  settleMs = SETTLE_MS,
}: Options<Name, Value>): Promise<OpenLiveFile<Value>> => {
  const opened = Promise.withResolvers<void>()
  let reloads = opened.promise
  const changed = () => {
    reloads = reloads.then(() => reload())
  }
  const watched = Object.values<string>(paths)
  const unwatch = () => {
    for (const path of watched) unwatchFile(path, changed)
  }
  // It compares what the path leads to, so it also sees Kubernetes swap the symbolic link of a mounted secret. It begins
  // before the first read: a change in between is read twice rather than not at all.
  for (const path of watched) watchFile(path, { interval: pollMs, persistent: false }, changed)
  const first = parseRead(await readTexts(paths), parse)
  if (!first.ok) {
    unwatch()
    return first
  }
  let { value } = first
  let isClosed = false
  const reload = async () => {
    const content = parseRead(await readSettled(paths, settleMs), parse)
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
        unwatch()
      },
    },
  }
}

type ReadTexts<Name extends string> = FileContent<Readonly<Record<Name, string>>>

const readTexts = async <Name extends string>(paths: Readonly<Record<Name, string>>): Promise<ReadTexts<Name>> => {
  const texts: Partial<Record<Name, string>> = {}
  const problems: string[] = []
  for (const [name, path] of Object.entries(paths) as [Name, string][]) {
    const read = await readText(path)
    if (read.ok) texts[name] = read.text
    else problems.push(read.problem)
  }
  return problems.length === 0 ? { ok: true, value: texts as Record<Name, string> } : { ok: false, problems }
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
const readSettled = async <Name extends string>(
  paths: Readonly<Record<Name, string>>,
  settleMs: number,
): Promise<ReadTexts<Name>> => {
  for (let last = await readTexts(paths); ; ) {
    await delay(settleMs, undefined, { ref: false })
    const now = await readTexts(paths)
    if (isDeepStrictEqual(now, last)) return now
    last = now
  }
}

const parseRead = <Name extends string, Value>(
  read: ReadTexts<Name>,
  parse: Options<Name, Value>['parse'],
): FileContent<Value> => (read.ok ? parse(read.value) : read)
