import type { Parameter } from '../database/database.ts'
import { orderColumns } from './order-rows.ts'
import type { OrderState } from './order-state.ts'

export type OrderFilter = {
  readonly state: OrderState | undefined
  readonly customerReference: string | undefined
  /** Created strictly later, and strictly earlier. */
  readonly createdAfterMs: number | undefined
  readonly createdBeforeMs: number | undefined
}

/** Where a page ended: the next one begins with the order that is older. */
export type OrderPosition = { readonly createdAtMs: number; readonly id: string }

export type OrderListing = {
  readonly owner: string
  readonly filter: OrderFilter
  readonly after: OrderPosition | undefined
  readonly limit: number
}

/** Newest first. Only the conditions that are asked for are there, so that each combination finds its index. */
export const orderListStatement = ({ owner, filter, after, limit }: OrderListing) => {
  const parameters: Parameter[] = []
  const bind = (value: Parameter) => `$${parameters.push(value)}`
  const instant = (ms: number) => `to_timestamp(${bind(ms)}::double precision / 1000)`
  const conditions = [`o.owner = ${bind(owner)}`]
  if (filter.state !== undefined) conditions.push(`o.state = ${bind(filter.state)}`)
  if (filter.customerReference !== undefined)
    conditions.push(`o.customer_reference = ${bind(filter.customerReference)}`)
  if (filter.createdAfterMs !== undefined) conditions.push(`o.created_at > ${instant(filter.createdAfterMs)}`)
  if (filter.createdBeforeMs !== undefined) conditions.push(`o.created_at < ${instant(filter.createdBeforeMs)}`)
  if (after !== undefined) conditions.push(`(o.created_at, o.id) < (${instant(after.createdAtMs)}, ${bind(after.id)})`)
  const sql = `select ${orderColumns} from orders o where ${conditions.join(' and ')}
    order by o.created_at desc, o.id desc limit ${bind(limit)}`
  return { sql, parameters }
}
