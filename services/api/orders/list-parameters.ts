import { type Static, Type } from 'typebox'
import type { CursorList } from '../http/cursor.ts'
import { pageParameters } from '../http/page.ts'
import { parseTimestamp } from '../http/timestamp.ts'
import type { OrderFilter } from './order-list.ts'
import { customerReference, sku, state } from './order-schema.ts'

const instant = (description: string) =>
  Type.Optional(Type.String({ format: 'date-time', description: `${description} Write a + in it as %2B.` }))

export const orderListParameters = Type.Object(
  {
    ...pageParameters,
    state: Type.Optional(state),
    customer_reference: Type.Optional(customerReference),
    created_after: instant('Created later than this instant of RFC 3339.'),
    created_before: instant('Created earlier than this instant of RFC 3339.'),
  },
  { additionalProperties: false },
)

export const itemListParameters = Type.Object(
  { ...pageParameters, sku: Type.Optional(sku) },
  { additionalProperties: false },
)

export const decodeFilter = (query: Static<typeof orderListParameters>): OrderFilter => ({
  state: query.state,
  customerReference: query.customer_reference,
  createdAfterMs: query.created_after === undefined ? undefined : parseTimestamp(query.created_after)?.ms,
  createdBeforeMs: query.created_before === undefined ? undefined : roundUp(query.created_before),
})

/** Orders are created at whole milliseconds: before a part of one means up to and with it. */
const roundUp = (text: string) => {
  const timestamp = parseTimestamp(text)
  return timestamp?.isFiner ? timestamp.ms + 1 : timestamp?.ms
}

export const orderList = (owner: string, filter: OrderFilter): CursorList => [
  'orders',
  owner,
  filter.state,
  filter.customerReference,
  filter.createdAfterMs,
  filter.createdBeforeMs,
]

export const itemList = (owner: string, id: string, skuFilter: string | undefined): CursorList => [
  'items',
  owner,
  id,
  skuFilter,
]
