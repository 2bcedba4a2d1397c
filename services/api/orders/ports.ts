import type { CursorSigner } from '../http/cursor.ts'
import type { OrderRepository } from './repository.ts'

/** What the routes of the orders work with. */
export type OrderPorts = { readonly orders: OrderRepository; readonly cursors: CursorSigner }
