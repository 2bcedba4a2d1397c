import type { Database, Queries } from './database.ts'

/** A request that its client may send again without meaning it twice. */
export type Attempt = {
  readonly client: string
  /** What the client calls the request. */
  readonly key: string
  /** What the client asks for. */
  readonly fingerprint: string
}

export type Once<Result> =
  | { readonly ok: true; readonly result: Result }
  /** `in_use`: the first request has not ended. `reused`: it asked for something else. */
  | { readonly ok: false; readonly reason: 'in_use' | 'reused' }

/**
 * Does the work the first time, and tells its result again for a day. Work and record are one transaction: either both are there or
 * neither, whatever ends the process. Work that rejects leaves the key unused. The result must survive JSON.
 */
export const runOnce = <Result>(
  database: Database,
  { client, key, fingerprint }: Attempt,
  work: (queries: Queries) => Promise<Result>,
): Promise<Once<Result>> =>
  database.transaction(async (queries): Promise<Once<Result>> => {
    const recall = async (): Promise<Once<Result> | undefined> => {
      const [record] = await queries.query<{ fingerprint: string; response: string }>(
        `select fingerprint, response from idempotency_records
         where client = $1 and key = $2 and created_at > now() - interval '24 hours'`,
        [client, key],
      )
      if (record === undefined) return undefined
      return record.fingerprint === fingerprint
        ? { ok: true, result: JSON.parse(record.response) as Result }
        : { ok: false, reason: 'reused' }
    }
    // Without the lock, so that those who come when it is done do not stand in each other's way.
    const told = await recall()
    if (told !== undefined) return told
    // The length keeps one client's keys apart from another's.
    const name = `${client.length}:${client}:${key}`
    const [lock] = await queries.query<{ held: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held',
      [name],
    )
    if (!lock?.held) return { ok: false, reason: 'in_use' }
    // It may have been done between the two.
    const justDone = await recall()
    if (justDone !== undefined) return justDone
    await forgetSome(queries)
    const result = await work(queries)
    await queries.query(
      `insert into idempotency_records (client, key, fingerprint, response) values ($1, $2, $3, $4)
       on conflict (client, key) do update
       set fingerprint = excluded.fingerprint, response = excluded.response, created_at = excluded.created_at`,
      [client, key, fingerprint, JSON.stringify(result)],
    )
    return { ok: true, result }
  })

/** Each new record clears away a few old ones, which keeps their number bounded without a timer. */
const forgetSome = (queries: Queries) =>
  queries.query(
    `delete from idempotency_records where (client, key) in (
       select client, key from idempotency_records where created_at <= now() - interval '24 hours'
       order by created_at limit 10 for update skip locked)`,
  )
