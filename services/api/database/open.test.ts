import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, DatabaseUnavailable, UniqueViolation } from './database.ts'
import { openOrThrow } from './databases.fixture.ts'
import { openDatabase } from './open.ts'
import { type PostgresFixture, startPostgres } from './postgres.fixture.ts'

let postgres: PostgresFixture
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres[Symbol.asyncDispose]())

const insertOrder = (id: string, reference: string) =>
  [
    `insert into orders (id, owner, reference, state, currency, shipping) values ($1, 'a', $2, 'draft', 'EUR', 0)`,
    [id, reference],
  ] as const
const countOrders = 'select count(*)::integer as count from orders'

describe.each([
  ['PGlite', () => Promise.resolve('pglite:memory')],
  ['PostgreSQL', () => postgres.createDatabase()],
])('%s', (_, createDatabase) => {
  let database: Database
  beforeAll(async () => {
    database = await openOrThrow(await createDatabase())
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('a transaction whose work rejects leaves nothing behind, and the next one works', async () => {
    const fault = new Error('planted')
    await expect(
      database.transaction(async (queries) => {
        await queries.query(...insertOrder('rolled-back', 'r'))
        throw fault
      }),
    ).rejects.toBe(fault)
    expect(await database.query(countOrders)).toEqual([{ count: 0 }])
    await database.transaction((queries) => queries.query('select 1'))
  })

  test('a row that a unique index refuses is told by the index, also after other statements of a transaction', async () => {
    await database.query(...insertOrder('one', 'same'))
    const second = database.transaction(async (queries) => {
      await queries.query(...insertOrder('two', 'other'))
      await queries.query(...insertOrder('three', 'same'))
    })
    await expect(second).rejects.toBeInstanceOf(UniqueViolation)
    await expect(second).rejects.toMatchObject({ constraint: 'orders_reference' })
    expect(await database.query(countOrders)).toEqual([{ count: 1 }])
  })

  test('a statement that is wrong is a bug, not an outage', async () => {
    const failing = database.query('select * from no_such_table')
    await expect(failing).rejects.toMatchObject({ code: '42P01' })
    await expect(failing).rejects.not.toBeInstanceOf(DatabaseUnavailable)
  })

  test('text, numbers, nulls and lists arrive as they were sent', async () => {
    const text = `'"\\{},\n ключ 🔑`
    const [row] = await database.query(
      'select $1::text as text, $2::integer as number, $3::text as nothing, $4::text[] as texts, $5::integer[] as numbers',
      [text, -7, null, [text, ''], [1, 2]],
    )
    expect(row).toEqual({ text, number: -7, nothing: null, texts: [text, ''], numbers: [1, 2] })
  })

  test('a closed database is unavailable', async () => {
    const closed = await openOrThrow(await createDatabase())
    await closed[Symbol.asyncDispose]()
    await expect(closed.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
  })
})

describe('PostgreSQL', () => {
  test('three processes that start at once apply every migration once', async () => {
    const url = await postgres.createDatabase()
    const script = `
      import { openDatabase } from ${JSON.stringify(join(import.meta.dirname, 'open.ts'))}
      process.send('ready')
      process.once('message', async (url) => {
        const opened = await openDatabase(url)
        if (!opened.ok) throw new Error(opened.fault)
        await opened.database.query('select from orders, order_items, idempotency_records')
        await opened.database[Symbol.asyncDispose]()
        process.disconnect()
      })`
    const children = [1, 2, 3].map(() =>
      spawn(process.execPath, ['--input-type=module', '--eval', script], {
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    )
    await Promise.all(children.map((child) => once(child, 'message')))
    const exits = children.map((child) => once(child, 'exit'))
    for (const child of children) child.send(url)
    expect(await Promise.all(exits)).toEqual([
      [0, null],
      [0, null],
      [0, null],
    ])
    await using database = await openOrThrow(url)
    expect(await database.query('select number from schema_migrations order by number')).toEqual([
      { number: 1 },
      { number: 2 },
    ])
  })

  test('a server that goes away is unavailable, in and between statements, and serves again when it is back', async () => {
    await using own = await startPostgres()
    const url = await own.createDatabase()
    const told: string[] = []
    const opened = await openDatabase(url, {
      onUnavailable: () => told.push('unavailable'),
      onAvailable: () => told.push('available'),
    })
    if (!opened.ok) throw new Error(opened.fault)
    await using database = opened.database
    // Some connections idle, one in a statement, one in a transaction between two statements.
    await Promise.all(Array.from({ length: 5 }, () => database.query('select pg_sleep(0.05)')))
    const inStatement = database.query('select pg_sleep(60)')
    const between = Promise.withResolvers<void>()
    const stopped = Promise.withResolvers<void>()
    const inTransaction = database.transaction(async (queries) => {
      await queries.query(...insertOrder('lost', 'lost'))
      between.resolve()
      await stopped.promise
      await queries.query('select 1')
    })
    const outcomes = Promise.allSettled([inStatement, inTransaction])
    await between.promise
    await own.stop()
    stopped.resolve()
    for (const outcome of await outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: expect.any(DatabaseUnavailable) })
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
    await expect(database.transaction((queries) => queries.query('select 1'))).rejects.toBeInstanceOf(
      DatabaseUnavailable,
    )
    expect(told).toEqual(['unavailable'])

    await own.start()
    expect(await database.query(countOrders)).toEqual([{ count: 0 }])
    await database.transaction((queries) => queries.query(...insertOrder('back', 'back')))
    expect(await database.query(countOrders)).toEqual([{ count: 1 }])
    expect(told).toEqual(['unavailable', 'available'])
  })

  test('a server that accepts connections and then says nothing is unavailable within the deadline', async () => {
    await using silent = createServer((socket) => socket.resume()).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    const address = silent.address()
    const port = typeof address === 'object' ? address?.port : undefined
    const opened = await openDatabase(`postgres://weir@127.0.0.1:${port}/weir`)
    expect(opened).toEqual({ ok: false, fault: expect.stringContaining('timeout') })
  })

  test('a connection that falls silent is given up, and the next request gets another', async () => {
    await using database = await openOrThrow(await postgres.createDatabase())
    const [backend] = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
    const pid = backend?.pid ?? Number.NaN
    process.kill(pid, 'SIGSTOP')
    await expect(database.query('select 1')).rejects.toBeInstanceOf(DatabaseUnavailable)
    const [other] = await database.query<{ pid: number }>('select pg_backend_pid() as pid')
    process.kill(pid, 'SIGCONT')
    expect(other?.pid).not.toBe(pid)
  })

  test('transactions that deadlock run again instead of failing', async () => {
    await using database = await openOrThrow(await postgres.createDatabase())
    await database.query(...insertOrder('a', '1'))
    await database.query(...insertOrder('b', '2'))
    const both = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
    let attempts = 0
    const touch = (first: string, second: string, mine: 0 | 1) =>
      database.transaction(async (queries) => {
        attempts += 1
        await queries.query('update orders set version = version + 1 where id = $1', [first])
        both[mine].resolve()
        await Promise.all(both.map(({ promise }) => promise))
        await queries.query('update orders set version = version + 1 where id = $1', [second])
      })
    await Promise.all([touch('a', 'b', 0), touch('b', 'a', 1)])
    expect(attempts).toBe(3)
    expect(await database.query('select version from orders')).toEqual([{ version: 3 }, { version: 3 }])
  })

  test('more requests than connections wait their turn', async () => {
    await using database = await openOrThrow(await postgres.createDatabase())
    const rows = await Promise.all(
      Array.from({ length: 100 }, (_, index) => database.query('select $1::integer as index', [index])),
    )
    expect(rows).toEqual(rows.map((_, index) => [{ index }]))
  })
})

test('a folder keeps its rows, and refuses a second process while one uses it', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'weir-pglite-'))
  const url = `pglite:${join(folder, 'data')}`
  {
    await using database = await openOrThrow(url)
    await database.query(...insertOrder('kept', 'kept'))
    expect(await openDatabase(url)).toEqual({ ok: false, fault: expect.stringContaining('in use by another process') })
  }
  {
    await using database = await openOrThrow(url)
    expect(await database.query('select id from orders')).toEqual([{ id: 'kept' }])
  }
  rmSync(folder, { recursive: true })
})

test.each([
  ['', 'postgres://user@host/name, pglite:memory or pglite:FOLDER'],
  ['mysql://localhost', 'postgres://user@host/name, pglite:memory or pglite:FOLDER'],
  ['pglite:', 'postgres://user@host/name, pglite:memory or pglite:FOLDER'],
  ['postgres://weir:secret@127.0.0.1:1/weir', 'ECONNREFUSED'],
  ['pglite:/no/such/folder', 'cannot open the database'],
])('%j is refused with what is wrong, and without its password', async (url, fault) => {
  const opened = await openDatabase(url)
  expect(opened).toEqual({ ok: false, fault: expect.stringContaining(fault) })
  expect(JSON.stringify(opened)).not.toContain('secret')
})
