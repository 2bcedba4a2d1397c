import { pino } from 'pino'
import { expect, test } from 'vitest'
import { startPostgres } from './database/postgres.fixture.ts'
import { openOrders } from './resources.ts'

const demoOrdersOf = async (DATABASE_URL: string, API_DEMO_ORDERS?: 'yes' | 'no') => {
  const opened = await openOrders({ DATABASE_URL, API_DEMO_ORDERS }, pino({ enabled: false }))
  if (!opened.ok) return expect.fail(opened.faults.join())
  await using database = opened.value
  return (await database.query(`select from orders where owner = 'public'`)).length
}

test('an embedded database has demo orders, unless they are not wanted', async () => {
  expect(await demoOrdersOf('pglite:memory')).toBeGreaterThan(0)
  expect(await demoOrdersOf('pglite:memory', 'no')).toBe(0)
})

test("somebody's own PostgreSQL has none, unless they are asked for", async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  expect(await demoOrdersOf(url)).toBe(0)
  expect(await demoOrdersOf(url, 'yes')).toBeGreaterThan(0)
})
