import { afterAll, beforeAll, describe } from 'vitest'
import type { Database } from './database.ts'
import { openDatabase } from './open.ts'
import { type PostgresFixture, startPostgres } from './postgres.fixture.ts'

export const openOrThrow = async (url: string): Promise<Database> => {
  const opened = await openDatabase(url)
  if (!opened.ok) throw new Error(opened.fault)
  return opened.database
}

type Claims = (database: () => Database, kind: 'PGlite' | 'PostgreSQL') => void

/** The same claims hold on the embedded database and on a real one. Each gets one database for all of them. */
export const describeDatabases = (claims: Claims) => {
  describe('PGlite', () => {
    let database: Database
    beforeAll(async () => {
      database = await openOrThrow('pglite:memory')
    })
    afterAll(() => database[Symbol.asyncDispose]())
    claims(() => database, 'PGlite')
  })

  describe('PostgreSQL', () => {
    let postgres: PostgresFixture
    let database: Database
    beforeAll(async () => {
      postgres = await startPostgres()
      database = await openOrThrow(await postgres.createDatabase())
    })
    afterAll(async () => {
      await database[Symbol.asyncDispose]()
      await postgres[Symbol.asyncDispose]()
    })
    claims(() => database, 'PostgreSQL')
  })
}
