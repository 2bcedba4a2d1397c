import type { Database } from './database.ts'
import { openPglite } from './pglite.ts'
import { type AvailabilityObserver, openPostgres } from './postgres.ts'

export type OpenDatabase =
  | { readonly ok: true; readonly database: Database }
  | { readonly ok: false; readonly fault: string }

/**
 * Opens the database that a URL names, with every migration applied: `postgres://…`, `pglite:memory` or `pglite:FOLDER`.
 * Safe for several processes that start at once on one PostgreSQL.
 */
export const openDatabase = async (
  url: string,
  observer: AvailabilityObserver = { onUnavailable: () => {}, onAvailable: () => {} },
): Promise<OpenDatabase> => {
  const opening = open(url, observer)
  if (opening === undefined)
    return { ok: false, fault: 'a database is postgres://user@host/name, pglite:memory or pglite:FOLDER' }
  try {
    return { ok: true, database: await opening }
  } catch (error) {
    return { ok: false, fault: `cannot open the database: ${describe(error)}` }
  }
}

const open = (url: string, observer: AvailabilityObserver) => {
  if (/^postgres(ql)?:\/\//.test(url)) return openPostgres(url, observer)
  if (url === 'pglite:memory') return openPglite(undefined)
  const folder = /^pglite:(?<folder>.+)$/s.exec(url)?.groups?.['folder']
  return folder === undefined ? undefined : openPglite(folder)
}

// A host with several addresses fails with one error for each and no message of its own.
const describe = (error: unknown): string => {
  if (error instanceof AggregateError) return error.errors.map(describe).join('; ')
  return error instanceof Error ? error.message : String(error)
}
