// What the API opens at its start, each with the faults that a person can mend.
import { type FileContent, type LiveFile, openLiveFile } from '../platform/live-file.ts'
import type { Log } from '../platform/log.ts'
import { openTlsFiles, type TlsMaterial, type TlsPaths } from '../platform/tls-files.ts'
import type { Database } from './database/database.ts'
import { openDatabase } from './database/open.ts'
import type { CursorSecrets } from './http/cursor.ts'
import { parseCursorSecrets, randomCursorSecrets } from './http/cursor-secrets.ts'
import type { ApiKeys } from './identify/api-keys.ts'
import { parseKeyFile } from './identify/key-file.ts'
import { seedDemoOrders } from './orders/demo-orders.ts'
import type { ApiSettings } from './settings.ts'

export type Opened<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly faults: readonly string[] }

/** Without a file nobody has a key. */
export const openKeys = (path: string | undefined, log: Log): Promise<Opened<LiveFile<ApiKeys>>> =>
  openFile<ApiKeys>({
    setting: 'API_KEYS',
    path,
    parse: (text) => {
      const parsed = parseKeyFile(text)
      if (parsed.ok) return { ok: true, value: parsed.keys }
      return { ok: false, problems: parsed.problems.map((problem) => `${path}:${problem}`) }
    },
    withoutFile: () => new Map(),
    onReload: (reload) => {
      if (reload.ok) log.info({ event: 'keys.reloaded', keys: reload.value.size }, 'API keys reloaded')
      else
        log.error(
          { event: 'keys.rejected', problems: reload.problems },
          'API keys not reloaded: the last good ones stay in force',
        )
    },
  })

/** Without a file the process has a secret of its own, which no other one knows. */
export const openCursorSecrets = (path: string | undefined, log: Log): Promise<Opened<LiveFile<CursorSecrets>>> =>
  openFile({
    setting: 'API_CURSOR_SECRET_FILE',
    path,
    parse: (text) => {
      const parsed = parseCursorSecrets(text)
      return parsed.ok ? { ok: true, value: parsed.secrets } : { ok: false, problems: [`${path} ${parsed.fault}`] }
    },
    withoutFile: randomCursorSecrets,
    onReload: (reload) => {
      if (reload.ok)
        log.info({ event: 'cursor-secrets.reloaded', secrets: reload.value.length }, 'cursor secrets reloaded')
      else
        log.error(
          { event: 'cursor-secrets.rejected', problems: reload.problems },
          'cursor secrets not reloaded: the last good ones stay in force',
        )
    },
  })

/** What the limiters are known by, and the certificate that this API shows them. */
export const openLimiterTls = async (
  paths: TlsPaths | undefined,
  log: Log,
): Promise<Opened<LiveFile<TlsMaterial> | undefined>> => {
  if (paths === undefined) return { ok: true, value: undefined }
  const opened = await openTlsFiles({
    paths,
    onReload: (reload) => {
      if (reload.ok) log.info({ event: 'tls.reloaded' }, 'certificates reloaded: new connections to limiters use them')
      else
        log.error(
          { event: 'tls.rejected', problems: reload.problems },
          'certificates not reloaded: the last good ones stay in force',
        )
    },
  })
  return opened.ok
    ? { ok: true, value: opened.file }
    : { ok: false, faults: opened.problems.map((problem) => `API_LIMITER_TLS_CA, _CERT, _KEY: ${problem}`) }
}

type FileSetting<Value> = {
  readonly setting: string
  readonly path: string | undefined
  readonly parse: (text: string) => FileContent<Value>
  readonly withoutFile: () => Value
  readonly onReload: (reload: FileContent<Value>) => void
}

const openFile = async <Value>(options: FileSetting<Value>): Promise<Opened<LiveFile<Value>>> => {
  const { setting, path, parse, withoutFile, onReload } = options
  if (path === undefined) {
    const value = withoutFile()
    return { ok: true, value: { current: () => value, [Symbol.dispose]: () => {} } }
  }
  const opened = await openLiveFile({ path, parse, onReload })
  return opened.ok
    ? { ok: true, value: opened.file }
    : { ok: false, faults: opened.problems.map((problem) => `${setting}: ${problem}`) }
}

type OrdersSettings = Pick<ApiSettings, 'DATABASE_URL' | 'API_DEMO_ORDERS'>

/** A database that is made for trying out has orders to look at; one of somebody's own has them only if they are asked for. */
export const openOrders = async (settings: OrdersSettings, log: Log): Promise<Opened<Database>> => {
  const { DATABASE_URL: url, API_DEMO_ORDERS: demoOrders = url.startsWith('pglite:') ? 'yes' : 'no' } = settings
  const opened = await openDatabase(url, {
    onUnavailable: (error) => log.error({ event: 'database.away', err: error }, 'the database does not answer'),
    onAvailable: () => log.info({ event: 'database.back' }, 'the database answers again'),
  })
  if (!opened.ok) return { ok: false, faults: [`DATABASE_URL: ${opened.fault}`] }
  try {
    if (demoOrders === 'yes') await seedDemoOrders(opened.database)
    return { ok: true, value: opened.database }
  } catch (error) {
    await opened.database[Symbol.asyncDispose]()
    return { ok: false, faults: [`DATABASE_URL: cannot write to the database: ${messageOf(error)}`] }
  }
}

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
