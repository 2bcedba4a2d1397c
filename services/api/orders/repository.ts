import { isDeepStrictEqual } from 'node:util'
import { type Database, type Parameter, type Queries, UniqueViolation } from '../database/database.ts'
import { type Attempt, runOnce } from '../database/run-once.ts'
import { newOrderId } from './identifiers.ts'
import type { Item, Order, OrderContent } from './order.ts'
import { identifyItems } from './order-items.ts'
import { type OrderListing, orderListStatement } from './order-list.ts'
import { decodeItem, decodeOrder, type ItemRow, type OrderRow, orderColumns } from './order-rows.ts'

/** One order of one owner. Another owner's orders are as if they were not there. */
export type OrderTarget = { readonly owner: string; readonly id: string }

export type ItemListing = OrderTarget & {
  readonly sku: string | undefined
  /** The id of the last item of the page before. */
  readonly after: string | undefined
  readonly limit: number
}

type Refused<Reason> = { readonly ok: false; readonly reason: Reason }
export type Created = { readonly ok: true; readonly order: Order } | Refused<'reference_taken' | 'in_use' | 'reused'>
export type Changed = { readonly ok: true; readonly order: Order } | Refused<'reference_taken' | 'not_found'>

export type OrderRepository = {
  readonly list: (listing: OrderListing) => Promise<readonly Order[]>
  readonly find: (target: OrderTarget) => Promise<Order | undefined>
  /** With an attempt, at most one order comes of all requests that carry the same one. */
  readonly create: (owner: string, content: OrderContent, attempt?: Attempt) => Promise<Created>
  /**
   * Makes of an order what the edit makes of it, while nobody else can change it; an edit that throws leaves it as it is.
   * An edit that changes nothing makes no new version.
   */
  readonly change: (target: OrderTarget, edit: (order: Order) => OrderContent) => Promise<Changed>
  /** Whether there was one. A check that throws keeps it. */
  readonly remove: (target: OrderTarget, check: (order: Order) => void) => Promise<boolean>
  /** `undefined` when there is no such order. */
  readonly listItems: (listing: ItemListing) => Promise<readonly Item[] | undefined>
}

export const createOrderRepository = (database: Database): OrderRepository => ({
  list: async (listing) => {
    const { sql, parameters } = orderListStatement(listing)
    const rows = await database.query<OrderRow>(sql, parameters)
    return rows.map(decodeOrder)
  },
  find: (target) => select(database, target),
  create: (owner, content, attempt) =>
    unlessReferenceTaken<Created>(async () => {
      if (attempt === undefined) return { ok: true, order: await insertOrder(database, owner, content) }
      const once = await runOnce(database, attempt, (queries) => insertOrder(queries, owner, content))
      return once.ok ? { ok: true, order: once.result } : once
    }),
  change: (target, edit) =>
    unlessReferenceTaken<Changed>(() =>
      database.transaction(async (queries): Promise<Changed> => {
        const order = await lock(queries, target)
        if (order === undefined) return { ok: false, reason: 'not_found' }
        return { ok: true, order: await update(queries, order, edit(order)) }
      }),
    ),
  remove: (target, check) =>
    database.transaction(async (queries) => {
      const order = await lock(queries, target)
      if (order === undefined) return false
      check(order)
      await queries.query('delete from orders where id = $1', [order.id])
      return true
    }),
  listItems: async ({ owner, id, sku, after, limit }) => {
    const [order] = await database.query('select from orders where id = $1 and owner = $2', [id, owner])
    if (order === undefined) return undefined
    const rows = await database.query<ItemRow>(
      `select id, sku, quantity, unit_price from order_items
       where order_id = $1 and id > $2 ${sku === undefined ? '' : 'and sku = $4'} order by id limit $3`,
      [id, after ?? '', limit, ...(sku === undefined ? [] : [sku])],
    )
    return rows.map(decodeItem)
  },
})

const REFERENCE_INDEX = 'orders_reference'

const unlessReferenceTaken = async <Outcome>(work: () => Promise<Outcome>) => {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof UniqueViolation) || error.constraint !== REFERENCE_INDEX) throw error
    return { ok: false, reason: 'reference_taken' } as const
  }
}

const select = async (queries: Queries, { owner, id }: OrderTarget) => {
  const rows = await queries.query<OrderRow>(`select ${orderColumns} from orders o where o.id = $1 and o.owner = $2`, [
    id,
    owner,
  ])
  return rows.map(decodeOrder)[0]
}

/**
 * In two statements: a single one that has waited for the lock would see the order as it is now, and its items as they were
 * before the wait.
 */
const lock = async (queries: Queries, target: OrderTarget) => {
  await queries.query('select from orders where id = $1 and owner = $2 for update', [target.id, target.owner])
  return select(queries, target)
}

/** One statement, and so all or nothing on its own. */
export const insertOrder = async (queries: Queries, owner: string, content: OrderContent): Promise<Order> => {
  const id = newOrderId()
  const items = identifyItems([], content.items)
  const [row] = await queries.query<Pick<OrderRow, 'version' | 'created_at' | 'updated_at'>>(
    `with new_order as (
       insert into orders (id, owner, reference, customer_reference, state, currency, note, shipping)
       values ($1, $2, $3, $4, $5, $6, $7, $8) returning version, created_at, updated_at
     ), new_items as (
       insert into order_items (order_id, id, sku, quantity, unit_price) select $1, * from ${unnestItems(9)}
     )
     select * from new_order`,
    [id, owner, ...ownColumns(content), ...itemColumns(items)],
  )
  if (row === undefined) throw new Error('an order was inserted and not returned')
  return {
    ...content,
    id,
    items,
    version: row.version,
    createdAtMs: row.created_at.getTime(),
    updatedAtMs: row.updated_at.getTime(),
  }
}

const update = async (queries: Queries, order: Order, content: OrderContent): Promise<Order> => {
  const items = identifyItems(order.items, content.items)
  const changed = { ...order, ...content, items }
  if (isDeepStrictEqual(changed, order)) return order
  const [row] = await queries.query<Pick<OrderRow, 'version' | 'updated_at'>>(
    `update orders set reference = $2, customer_reference = $3, state = $4, currency = $5, note = $6, shipping = $7,
       version = version + 1, updated_at = greatest(updated_at, now())
     where id = $1 returning version, updated_at`,
    [order.id, ...ownColumns(content)],
  )
  if (row === undefined) throw new Error('a locked order was not there')
  if (!isDeepStrictEqual(items, order.items)) {
    await queries.query('delete from order_items where order_id = $1', [order.id])
    await queries.query(
      `insert into order_items (order_id, id, sku, quantity, unit_price) select $1, * from ${unnestItems(2)}`,
      [order.id, ...itemColumns(items)],
    )
  }
  return { ...changed, version: row.version, updatedAtMs: row.updated_at.getTime() }
}

const ownColumns = (content: OrderContent): readonly Parameter[] => [
  content.reference,
  content.customerReference,
  content.state,
  content.currency,
  content.note,
  content.shipping,
]

const itemColumns = (items: readonly Item[]): readonly Parameter[] => [
  items.map(({ id }) => id),
  items.map(({ sku }) => sku),
  items.map(({ quantity }) => quantity),
  items.map(({ unitPrice }) => unitPrice),
]

/** The rows of what `itemColumns` gives, of which the first is `$first`. */
const unnestItems = (first: number) =>
  `unnest($${first}::text[], $${first + 1}::text[], $${first + 2}::integer[], $${first + 3}::integer[])`
