import type { Item, Order } from './order.ts'

/** The columns of an order, its items among them: one statement sees both at one instant. */
export const orderColumns = `
  o.id, o.reference, o.customer_reference, o.state, o.currency, o.note, o.shipping, o.version, o.created_at, o.updated_at,
  (select coalesce(
      json_agg(json_build_object('id', i.id, 'sku', i.sku, 'quantity', i.quantity, 'unitPrice', i.unit_price) order by i.id),
      '[]')
    from order_items i where i.order_id = o.id) as items`

export type OrderRow = {
  readonly id: string
  readonly reference: string | null
  readonly customer_reference: string | null
  readonly state: Order['state']
  readonly currency: string
  readonly note: string | null
  readonly shipping: number
  readonly version: number
  readonly created_at: Date
  readonly updated_at: Date
  readonly items: readonly Item[]
}

export const decodeOrder = (row: OrderRow): Order => ({
  id: row.id,
  reference: row.reference,
  customerReference: row.customer_reference,
  state: row.state,
  currency: row.currency,
  note: row.note,
  shipping: row.shipping,
  items: row.items,
  version: row.version,
  createdAtMs: row.created_at.getTime(),
  updatedAtMs: row.updated_at.getTime(),
})

export type ItemRow = {
  readonly id: string
  readonly sku: string
  readonly quantity: number
  readonly unit_price: number
}

export const decodeItem = ({ id, sku, quantity, unit_price }: ItemRow): Item => ({
  id,
  sku,
  quantity,
  unitPrice: unit_price,
})
