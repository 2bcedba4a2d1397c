import { PGlite, type Transaction } from '@electric-sql/pglite'
import type { Database, Parameter, Queries } from './database.ts'
import { translate } from './driver-error.ts'
import { lockFolder } from './lock-folder.ts'
import { migrate } from './migrate.ts'
import { readMigrations } from './migrations.ts'

/** PostgreSQL inside this process, in a folder or in memory. Rejects if it cannot start. */
export const openPglite = async (folder: string | undefined): Promise<Database> => {
  await using opened = new AsyncDisposableStack()
  // Two processes in one folder would write over each other without a word.
  if (folder !== undefined) opened.use(lockFolder(folder))
  const pglite = await PGlite.create(folder === undefined ? 'memory://' : `file://${folder}`)
  opened.defer(() => pglite.close())
  await pglite.transaction((transaction) =>
    migrate({ ...queriesOf(transaction), run: (script) => transaction.exec(script) }, readMigrations()),
  )
  const resources = opened.move()
  return {
    ...queriesOf(pglite),
    transaction: (work) => pglite.transaction((transaction) => work(queriesOf(transaction))),
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
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
