import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Database, Parameter, Queries } from './database.ts'
import { translate } from './driver-error.ts'
import { migrate } from './migrate.ts'
import { readMigrations } from './migrations.ts'

/** PostgreSQL inside this process, in a folder or in memory. One process may use a folder at a time. */
export const openPglite = async (folder: string | undefined): Promise<Database> => {
  const pglite = await PGlite.create(folder === undefined ? 'memory://' : `file://${folder}`)
  try {
    await pglite.transaction((transaction) =>
      migrate({ ...queriesOf(transaction), run: (script) => transaction.exec(script) }, readMigrations()),
    )
  } catch (error) {
    await pglite.close()
    throw error
  }
  return {
    ...queriesOf(pglite),
    transaction: (work) => pglite.transaction((transaction) => work(queriesOf(transaction))),
    [Symbol.asyncDispose]: () => pglite.close(),
  }
}

const queriesOf = (pglite: PGlite | Transaction): Queries => ({
  query: async <Row>(sql: string, parameters: readonly Parameter[] = []) => {
    try {
      const { rows } = await pglite.query<Row>(sql, [...parameters])
      return rows
    } catch (error) {
      throw translate(error)
    }
  },
})
