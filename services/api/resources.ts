// What the API opens at its start, each with the faults that a person can mend.
import { readFile } from 'node:fs/promises'
import type { Log } from '../platform/log.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import type { CursorSecrets } from './http/cursor.ts'
import { parseCursorSecrets, randomCursorSecrets } from './http/cursor-secrets.ts'
import { type KeysReload, type LiveKeys, openLiveKeys } from './identify/live-keys.ts'
import { seedDemoOrders } from './orders/demo-orders.ts'

export type Opened<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly string[] }

const KEYS_POLL_MS = 1_000

/** Without a file nobody has a key. */
export const openKeys = async (path: string | undefined, log: Log): Promise<Opened<LiveKeys>> => {
  if (path === undefined) return { ok: true, value: { current: () => new Map(), [Symbol.dispose]: () => {} } }
  const onReload = (reload: KeysReload) => {
    if (reload.ok) log.info({ keys: reload.keys }, 'API keys reloaded')
    else log.error({ problems: reload.problems }, 'API keys not reloaded: the last good ones stay in force')
  }
  const opened = await openLiveKeys({ path, pollMs: KEYS_POLL_MS, onReload })
  return opened.ok
    ? { ok: true, value: opened.keys }
    : { ok: false, faults: opened.problems.map((problem) => `API_KEYS: ${problem}`) }
}

export const readCursorSecrets = async (path: string | undefined): Promise<Opened<CursorSecrets>> => {
  if (path === undefined) return { ok: true, value: randomCursorSecrets() }
  try {
    const parsed = parseCursorSecrets(await readFile(path, 'utf8'))
    if (parsed.ok) return { ok: true, value: parsed.secrets }
    return { ok: false, faults: [`API_CURSOR_SECRET_FILE: ${path} ${parsed.fault}`] }
  } catch (error) {
    return { ok: false, faults: [`API_CURSOR_SECRET_FILE: ${path} cannot be read: ${messageOf(error)}`] }
  }
}

/** With orders to look at, if it has none. */
export const openOrders = async (url: string, log: Log): Promise<Opened<Database>> => {
  const opened = await openDatabase(url, {
    onUnavailable: (error) => log.error({ err: error }, 'the database does not answer'),
    onAvailable: () => log.info('the database answers again'),
  })
  if (!opened.ok) return { ok: false, faults: [`DATABASE_URL: ${opened.fault}`] }
  try {
    await seedDemoOrders(opened.database)
    return { ok: true, value: opened.database }
  } catch (error) {
    await opened.database[Symbol.asyncDispose]()
    return { ok: false, faults: [`DATABASE_URL: cannot write to the database: ${messageOf(error)}`] }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
