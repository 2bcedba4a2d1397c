import type { Queries } from './database.ts'
import type { Migration } from './migrations.ts'

export type MigrationSession = Queries & {
  /** Runs a text of several statements. */
  readonly run: (script: string) => Promise<unknown>
}

/** An arbitrary number: whoever migrates this database holds this lock. */
const LOCK = 6_094_411_305_188_241

/**
 * Applies what is missing, in order. The session is inside one transaction: all or nothing, and a process that comes at the same time
 * waits at the lock and then finds nothing to do. Migrations that only a newer version knows are left alone.
 */
export const migrate = async (session: MigrationSession, migrations: readonly Migration[]) => {
  await session.query('select pg_advisory_xact_lock($1::bigint)', [LOCK])
  const applied = await readApplied(session)
  for (const { number, name, sql } of migrations) {
    const known = applied.get(number)
    if (known === name) continue
    if (known !== undefined)
      throw new Error(
        `the database has applied migration ${number} as "${known}", not "${name}": it belongs to another program`,
      )
    await session.run(sql)
    await session.query('insert into schema_migrations (number, name) values ($1, $2)', [number, name])
  }
}

const readApplied = async (session: MigrationSession) => {
  // Asked first, because `create table if not exists` needs the right to create even when there is nothing to create.
  const [table] = await session.query<{ there: boolean }>(
    `select to_regclass('schema_migrations') is not null as there`,
  )
  if (!table?.there)
    await session.run(
      'create table schema_migrations (number integer primary key, name text not null, applied_at timestamptz not null default now())',
    )
  const rows = await session.query<{ number: number; name: string }>('select number, name from schema_migrations')
  return new Map(rows.map(({ number, name }) => [number, name]))
}
