import type { Database } from './database.ts'
import { openPglite } from './pglite.ts'
import { openPostgres } from './postgres.ts'

export type OpenDatabase =
  | { readonly ok: true; readonly database: Database }
  | { readonly ok: false; readonly fault: string }

type Options = {
  /** Told when a connection that nobody used has broken: the next request opens another. */
  readonly onConnectionLost?: (error: Error) => void
}

/**
 * Opens the database that a URL names, with every migration applied: `postgres://…`, `pglite:memory` or `pglite:FOLDER`.
 * Safe for several processes that start at once on one PostgreSQL.
 */
export const openDatabase = async (
  url: string,
  { onConnectionLost = () => {} }: Options = {},
): Promise<OpenDatabase> => {
  const opening = open(url, onConnectionLost)
  if (opening === undefined)
    return { ok: false, fault: 'a database is postgres://user@host/name, pglite:memory or pglite:FOLDER' }
  try {
    return { ok: true, database: await opening }
  } catch (error) {
    return { ok: false, fault: `cannot open the database: ${describe(error)}` }
  }
}

const open = (url: string, onConnectionLost: (error: Error) => void) => {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres({ url, onConnectionLost })
  if (url === 'pglite:memory') return openPglite(undefined)
  const folder = /^pglite:(?<folder>.+)$/s.exec(url)?.groups?.['folder']
  return folder === undefined ? undefined : openPglite(folder)
}

// A host with several addresses fails with one error for each and no message of its own.
const describe = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}
