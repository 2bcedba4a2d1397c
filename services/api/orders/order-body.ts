import type { Static } from 'typebox'
import { type Item, lineTotal, type Order, type OrderContent, subtotal } from './order.ts'
import type { itemInput, newOrder, orderPatch, wholeOrder } from './order-schema.ts'
import { DEFAULT_STATE } from './order-state.ts'

/** What a body that describes a whole order makes of one; what it leaves out is reset. */
export const decodeContent = (body: Static<typeof newOrder> | Static<typeof wholeOrder>): OrderContent => ({
  reference: body.reference ?? null,
  customerReference: body.customer_reference ?? null,
  state: body.state ?? DEFAULT_STATE,
  currency: body.currency,
  note: body.note ?? null,
  shipping: body.shipping ?? 0,
  items: body.items.map(decodeItem),
})

/** What a merge patch makes of an order: null resets, what is absent stays. */
export const applyPatch = (order: Order, patch: Static<typeof orderPatch>): OrderContent => ({
  reference: patch.reference === undefined ? order.reference : patch.reference,
  customerReference: patch.customer_reference === undefined ? order.customerReference : patch.customer_reference,
  state: patch.state ?? order.state,
  currency: patch.currency ?? order.currency,
  note: patch.note === undefined ? order.note : patch.note,
  shipping: patch.shipping === undefined ? order.shipping : (patch.shipping ?? 0),
  items:
    patch.items?.map(decodeItem) ?? order.items.map(({ sku, quantity, unitPrice }) => ({ sku, quantity, unitPrice })),
})

const decodeItem = ({ sku, quantity, unit_price }: Static<typeof itemInput>) => ({
  sku,
  quantity,
  unitPrice: unit_price,
})

export const encodeOrder = (order: Order) => ({
  id: order.id,
  reference: order.reference,
  customer_reference: order.customerReference,
  state: order.state,
  currency: order.currency,
  note: order.note,
  items: order.items.map(encodeItem),
  subtotal: subtotal(order.items),
  shipping: order.shipping,
  total: subtotal(order.items) + order.shipping,
  created_at: new Date(order.createdAtMs).toISOString(),
  updated_at: new Date(order.updatedAtMs).toISOString(),
})

export const encodeItem = (item: Item) => ({
  id: item.id,
  sku: item.sku,
  quantity: item.quantity,
  unit_price: item.unitPrice,
  total: lineTotal(item),
})
