import { type Static, type TSchema, type TSchemaOptions, Type } from 'typebox'
import { orderLimits } from './order.ts'
import { DEFAULT_STATE, firstStates, type OrderState, orderStates } from './order-state.ts'

/** PostgreSQL holds no NUL; other control characters have no place in one line. */
const LINE = String.raw`^[^\u0000-\u001F\u007F-\u009F]*$`
/** The same, with tabs and line ends. */
const LINES = String.raw`^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*$`

const closed = { additionalProperties: false } as const

const orNull = <Schema extends TSchema>({ type, ...schema }: Schema & { readonly type: string }) =>
  Type.Unsafe<Static<Schema> | null>({ ...schema, type: [type, 'null'] })

const stateOf = <const State extends OrderState>(states: readonly State[], options: TSchemaOptions) =>
  Type.Unsafe<State>(Type.String({ enum: [...states], ...options }))

const line = (maxLength: number, description: string) =>
  Type.String({ minLength: 1, maxLength, pattern: LINE, description })

const amount = (options: TSchemaOptions) => Type.Integer({ minimum: 0, maximum: orderLimits.amount, ...options })

const reference = line(
  orderLimits.reference,
  'The owner’s own number of the order; no two orders of an owner have the same. One line without control characters.',
)
export const customerReference = line(
  orderLimits.reference,
  'The owner’s own number of the customer. One line without control characters.',
)
export const sku = line(orderLimits.reference, 'The article’s stock keeping unit. One line without control characters.')
const note = Type.String({
  maxLength: orderLimits.note,
  pattern: LINES,
  description: 'Text for whoever packs the order. No control characters but tabs and line ends.',
})
const currency = Type.String({ pattern: '^[A-Z]{3}$', description: 'Three capital letters, as in ISO 4217.' })
const shipping = amount({ description: 'The price of the delivery in minor units of the currency; 0 if absent.' })
export const state = stateOf(orderStates, {
  description:
    'draft → placed → paid → shipped; all but a shipped order can become cancelled. Any other change is refused with 422.',
})

export const itemInput = Type.Object(
  {
    sku,
    quantity: Type.Integer({ minimum: 1, maximum: orderLimits.quantity }),
    unit_price: amount({ description: 'In minor units of the currency.' }),
  },
  closed,
)
const items = Type.Array(itemInput, { minItems: 1, maxItems: orderLimits.items })

const example = {
  customer_reference: 'C-1042',
  currency: 'EUR',
  note: 'Leave it with the neighbours.',
  shipping: 490,
  items: [
    { sku: 'TEAPOT-1L', quantity: 1, unit_price: 2999 },
    { sku: 'CUP-WHITE', quantity: 4, unit_price: 650 },
  ],
}

const optionals = {
  reference: Type.Optional(orNull(reference)),
  customer_reference: Type.Optional(orNull(customerReference)),
  note: Type.Optional(orNull(note)),
}

export const newOrder = Type.Object(
  {
    ...optionals,
    state: Type.Optional(
      stateOf(firstStates, { default: DEFAULT_STATE, description: 'The state that the order begins in.' }),
    ),
    currency,
    shipping: Type.Optional(shipping),
    items,
  },
  { ...closed, description: 'An order to be created.', examples: [example] },
)

export const wholeOrder = Type.Object(
  { ...optionals, state: Type.Optional(state), currency, shipping: Type.Optional(shipping), items },
  {
    ...closed,
    description:
      'All that the order shall be. What is absent is reset: references and note to null, shipping to 0, the state to draft.',
    examples: [{ ...example, note: 'Ring twice.' }],
  },
)

export const orderPatch = Type.Object(
  {
    ...optionals,
    state: Type.Optional(state),
    currency: Type.Optional(currency),
    shipping: Type.Optional(orNull(shipping)),
    items: Type.Optional(items),
  },
  {
    ...closed,
    description:
      'A JSON merge patch (RFC 7396): what is absent stays, null resets, and an array of items replaces the whole one.',
    examples: [{ customer_reference: 'C-1043', note: null }],
  },
)

const timestamp = (description: string) => Type.String({ format: 'date-time', description })

export const itemSchema = Type.Object(
  {
    id: Type.String({ examples: ['itm_019a9d2c7be07f3b8c6d5e4f3a2b1c0e'] }),
    sku: Type.String(),
    quantity: Type.Integer(),
    unit_price: Type.Integer(),
    total: Type.Integer({ description: 'quantity × unit_price.' }),
  },
  { $id: 'Item', description: 'A line of an order. Amounts are in minor units of the order’s currency.' },
)

export const orderSchema = Type.Object(
  {
    id: Type.String({ examples: ['ord_019a9d2c7bdf7cf0a3f1c2d3e4f5a6b7'] }),
    reference: orNull(Type.String()),
    customer_reference: orNull(Type.String()),
    state,
    currency: Type.String(),
    note: orNull(Type.String()),
    items: Type.Array(Type.Ref('Item')),
    subtotal: Type.Integer({ description: 'The sum of the items’ totals.' }),
    shipping: Type.Integer(),
    total: Type.Integer({ description: 'subtotal + shipping.' }),
    created_at: timestamp('Set by the server.'),
    updated_at: timestamp('Set by the server when something changes.'),
  },
  { $id: 'Order', description: 'An order. Amounts are in minor units of its currency.' },
)
