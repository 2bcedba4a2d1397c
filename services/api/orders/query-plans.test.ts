import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Database, Parameter, Queries } from '../database/database.ts'
import { openOrThrow } from '../database/databases.fixture.ts'
import { type PostgresFixture, startPostgres } from '../database/postgres.fixture.ts'
import { seedDemoOrders } from './demo-orders.ts'
import type { Order } from './order.ts'
import { contentOf, createOrThrow, noFilter } from './orders.fixture.ts'
import { createOrderRepository } from './repository.ts'

const ORDERS = 100_000
const OWNER = 'user:1'

type Statement = { readonly sql: string; readonly parameters: readonly Parameter[] }

let postgres: PostgresFixture
let database: Database

beforeAll(async () => {
  postgres = await startPostgres()
  const url = await postgres.createDatabase()
  database = await openOrThrow(url)
  await fill(url)
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await postgres[Symbol.asyncDispose]()
})

/**
 * Half of the orders are one owner's; the rest is spread over many. An item for each, and a record of a key. On a connection
 * of its own, which has no deadlines, and without the checks of what refers to what.
 */
const fill = async (url: string) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  await client.query(`set session_replication_role = replica`)
  await client.query(
    `insert into orders (id, owner, reference, customer_reference, state, currency, shipping, created_at)
     select 'ord_' || to_char(n, 'FM00000000000000000000000000000000'),
       case n % 2 when 0 then $2 else 'user:' || n % 1000 end, 'R' || n, 'C' || n % 100,
       (array['draft', 'placed', 'paid', 'shipped', 'cancelled'])[1 + n % 5], 'EUR', 0, now() - n * interval '1 minute'
     from generate_series(1, $1::integer) n`,
    [ORDERS, OWNER],
  )
  await client.query(`insert into order_items select id, 'itm_1', 'S1', 1, 100 from orders`)
  await client.query(`insert into idempotency_records select owner, id, '', '', created_at from orders`)
  await client.query('analyze')
  await client.end()
}

/** Notes what is asked of the database on its way there. */
const noting = (inner: Database) => {
  const statements = new Map<string, Statement>()
  const noted = (queries: Queries): Queries => ({
    query: (sql, parameters = []) => {
      statements.set(sql, { sql, parameters })
      return queries.query(sql, parameters)
    },
  })
  const outer: Database = {
    ...inner,
    ...noted(inner),
    transaction: (work) => inner.transaction((queries) => work(noted(queries))),
  }
  return { database: outer, statements }
}

/** Everything that the API asks, with every combination of filters. */
const useEverything = async (noted: Database) => {
  const orders = createOrderRepository(noted)
  const maybe = <T>(value: T) => [undefined, value]
  const position = { createdAtMs: Date.now() - 3_600_000, id: 'ord_5' }
  for (const state of maybe('paid' as const))
    for (const customerReference of maybe('C7'))
      for (const createdAfterMs of maybe(Date.now() - 86_400_000))
        for (const createdBeforeMs of maybe(Date.now() - 1_000))
          for (const after of maybe(position)) {
            const filter = { state, customerReference, createdAfterMs, createdBeforeMs }
            await orders.list({ owner: OWNER, filter, after, limit: 101 })
          }
  const attempt = { client: OWNER, key: 'k', fingerprint: 'f' }
  await orders.create(OWNER, contentOf(), attempt)
  await orders.create(OWNER, contentOf(), attempt)
  const order: Order = await createOrThrow(orders, OWNER, { reference: 'new' })
  const target = { owner: OWNER, id: order.id }
  for (const sku of maybe('A'))
    for (const after of maybe('itm_0')) await orders.listItems({ ...target, sku, after, limit: 101 })
  await orders.find(target)
  await orders.change(target, () => contentOf({ items: [] }))
  await orders.remove(target, () => {})
  await seedDemoOrders(noted)
  // What the database asks itself when an order goes.
  await noted.query('delete from order_items where order_id = $1', [order.id])
}

type Plan = {
  readonly 'Node Type': string
  readonly 'Index Cond'?: string
  readonly 'Index Name'?: string
  readonly Filter?: string
  readonly Plans?: readonly Plan[]
}

/** The nodes of a plan, the root first. */
const explain = async ({ sql, parameters }: Statement): Promise<readonly Plan[]> => {
  const [row] = await database.query<{ 'QUERY PLAN': readonly { Plan: Plan }[] }>(
    `explain (format json) ${sql}`,
    parameters,
  )
  const below = (plan: Plan): readonly Plan[] => [plan, ...(plan.Plans ?? []).flatMap(below)]
  return (row?.['QUERY PLAN'] ?? []).flatMap(({ Plan }) => below(Plan))
}

/** Of a table or of an index. */
const readsAll = (plan: Plan) =>
  plan['Node Type'] === 'Seq Scan' || (/Index.*Scan/.test(plan['Node Type']) && plan['Index Cond'] === undefined)

test(`over ${ORDERS} orders no statement of the API reads a whole table, or a whole index`, async () => {
  const { database: noted, statements } = noting(database)
  await useEverything(noted)
  const lists = [...statements.keys()].filter((sql) => sql.includes('order by o.created_at desc'))
  expect(lists.length).toBe(32)
  for (const statement of statements.values())
    expect((await explain(statement)).filter(readsAll), statement.sql).toEqual([])
})

test('a page in the middle of a list is found by the index, without a sort or rows thrown away', async () => {
  const { database: noted, statements } = noting(database)
  const after = { createdAtMs: Date.now() - 20_000 * 60_000, id: 'ord_5' }
  await createOrderRepository(noted).list({ owner: OWNER, filter: noFilter, after, limit: 21 })
  for (const statement of statements.values()) {
    const [limit, scan] = await explain(statement)
    expect(limit?.['Node Type']).toBe('Limit')
    expect(scan).toMatchObject({
      'Node Type': 'Index Scan',
      'Index Name': 'orders_by_owner',
      'Index Cond': expect.stringContaining('(ROW(created_at, id) < ROW('),
    })
    expect(scan?.Filter).toBeUndefined()
  }
})
