import type { OrderState } from './order-state.ts'

/** What a client decides of an order. */
export type OrderContent = {
  readonly reference: string | null
  readonly customerReference: string | null
  readonly state: OrderState
  readonly currency: string
  readonly note: string | null
  /** Minor units, as every amount. */
  readonly shipping: number
  readonly items: readonly ItemContent[]
}

export type ItemContent = { readonly sku: string; readonly quantity: number; readonly unitPrice: number }

export type Item = ItemContent & { readonly id: string }

export type Order = Omit<OrderContent, 'items'> & {
  readonly id: string
  readonly items: readonly Item[]
  /** Counts the changes, from 1. */
  readonly version: number
  readonly createdAtMs: number
  readonly updatedAtMs: number
}

/** The largest amounts: 100 lines of the largest price and quantity still add up exactly in a number. */
export const orderLimits = {
  items: 100,
  quantity: 10_000,
  amount: 1_000_000_000,
  reference: 64,
  note: 1_000,
} as const

export const lineTotal = ({ quantity, unitPrice }: ItemContent) => quantity * unitPrice

export const subtotal = (items: readonly ItemContent[]) => items.reduce((sum, item) => sum + lineTotal(item), 0)
