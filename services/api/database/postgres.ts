import { Client, Pool, type PoolClient } from 'pg'
import { type Database, DatabaseUnavailable, type Parameter, type Queries } from './database.ts'
import { isBrokenOff, translate } from './driver-error.ts'
import { migrate } from './migrate.ts'
import { readMigrations } from './migrations.ts'

const CONNECTIONS = 10
const CONNECT_DEADLINE_MS = 2_000
/** The server gives a statement up first; the client's own deadline is for a server that has gone without a word. */
const STATEMENT_DEADLINE_MS = 4_000
const ANSWER_DEADLINE_MS = 5_000
/** A process that stands still in a transaction holds its locks no longer than this. */
const IDLE_TRANSACTION_DEADLINE_MS = 10_000
const TRANSACTION_ATTEMPTS = 3

/** Told when the database stops answering, and when it answers again: at the change, not at every request. */
export type AvailabilityObserver = {
  readonly onUnavailable: (error: DatabaseUnavailable) => void
  readonly onAvailable: () => void
}

/** Migrates, then serves from a bounded pool; a broken connection is replaced at the next request. Rejects if it cannot start. */
export const openPostgres = async (url: string, observer: AvailabilityObserver): Promise<Database> => {
  await migrateOnce(url)
  const pool = new Pool({
    connectionString: url,
    application_name: 'weir-api',
    max: CONNECTIONS,
    connectionTimeoutMillis: CONNECT_DEADLINE_MS,
    statement_timeout: STATEMENT_DEADLINE_MS,
    query_timeout: ANSWER_DEADLINE_MS,
    idle_in_transaction_session_timeout: IDLE_TRANSACTION_DEADLINE_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  })
  // An idle connection broke; the pool has dropped it.
  pool.on('error', ignore)
  const watch = watchAvailability(observer)

  return {
    query: (sql, parameters) => watch(() => lend(pool, (client) => queriesOf(client).query(sql, parameters))),
    transaction: async (work) => {
      for (let attempt = 1; ; attempt++) {
        try {
          return await watch(() => lend(pool, (client) => transact(client, work)))
        } catch (error) {
          const again = error instanceof DatabaseUnavailable && isBrokenOff(error.cause)
          if (!again || attempt === TRANSACTION_ATTEMPTS) throw error
        }
      }
    },
    [Symbol.asyncDispose]: () => pool.end(),
  }
}

/** On a connection of its own: a migration may take longer than any request. */
const migrateOnce = async (url: string) => {
  const client = new Client({ connectionString: url, connectionTimeoutMillis: CONNECT_DEADLINE_MS })
  client.on('error', ignore)
  await client.connect()
  try {
    await transact(client, (queries) =>
      migrate({ ...queries, run: (script) => client.query(script) }, readMigrations()),
    )
  } finally {
    await client.end()
  }
}

const watchAvailability = ({ onUnavailable, onAvailable }: AvailabilityObserver) => {
  let isAvailable = true
  return async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      const result = await work()
      if (!isAvailable) onAvailable()
      isAvailable = true
      return result
    } catch (error) {
      if (error instanceof DatabaseUnavailable && !isBrokenOff(error.cause)) {
        if (isAvailable) onUnavailable(error)
        isAvailable = false
      }
      throw error
    }
  }
}

/** Lends a connection to the work and takes it back, or throws it away when it is of no more use. */
const lend = async <T>(pool: Pool, work: (client: PoolClient) => Promise<T>): Promise<T> => {
  const client = await pool.connect().catch((error: unknown) => {
    throw translate(error)
  })
  // A connection may break while no statement runs on it. The next statement tells; without a listener the process would end.
  client.on('error', ignore)
  let isBroken = false
  try {
    return await work(client)
  } catch (error) {
    isBroken = error instanceof DatabaseUnavailable
    throw error
  } finally {
    client.release(isBroken)
    client.off('error', ignore)
  }
}

const transact = async <T>(client: Client | PoolClient, work: (queries: Queries) => Promise<T>): Promise<T> => {
  const queries = queriesOf(client)
  await queries.query('begin')
  try {
    const result = await work(queries)
    await queries.query('commit')
    return result
  } catch (error) {
    // An unavailable connection is thrown away, and its transaction with it.
    if (!(error instanceof DatabaseUnavailable)) await queries.query('rollback')
    throw error
  }
}

const queriesOf = (client: Client | PoolClient): Queries => ({
  query: async <Row>(sql: string, parameters: readonly Parameter[] = []) => {
    try {
      const { rows } = await client.query<Row & Record<string, unknown>>(sql, [...parameters])
      return rows
    } catch (error) {
      throw translate(error)
    }
  },
})

const ignore = () => {}
