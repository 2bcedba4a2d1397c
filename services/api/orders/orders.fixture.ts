import { randomUUID } from 'node:crypto'
import type { Database } from '../database/database.ts'
import type { Order, OrderContent } from './order.ts'
import type { OrderFilter } from './order-list.ts'
import type { OrderRepository } from './repository.ts'

export const noFilter: OrderFilter = {
  state: undefined,
  customerReference: undefined,
  createdAfterMs: undefined,
  createdBeforeMs: undefined,
}

export const contentOf = (change: Partial<OrderContent> = {}): OrderContent => ({
  reference: null,
  customerReference: null,
  state: 'draft',
  currency: 'EUR',
  note: null,
  shipping: 0,
  items: [{ sku: 'A', quantity: 1, unitPrice: 100 }],
  ...change,
})

export const newOwner = () => `user:${randomUUID()}`

export const createOrThrow = async (
  orders: OrderRepository,
  owner: string,
  change: Partial<OrderContent> = {},
): Promise<Order> => {
  const created = await orders.create(owner, contentOf(change))
  if (!created.ok) throw new Error(created.reason)
  return created.order
}

/** As if the order had been created at that instant. */
export const backdate = (database: Database, id: string, createdAtMs: number) =>
  database.query('update orders set created_at = to_timestamp($2::double precision / 1000) where id = $1', [
    id,
    createdAtMs,
  ])
