import type { Database } from '../database/database.ts'
import type { OrderContent } from './order.ts'
import { PUBLIC } from './owner.ts'
import { insertOrder } from './repository.ts'

/** An arbitrary number: whoever writes the demo orders holds this lock. */
const LOCK = 2_871_930_466_501_127

/** Public orders for a database that has none, so that a first look at the API shows something. Processes may start at once. */
export const seedDemoOrders = (database: Database) =>
  database.transaction(async (queries) => {
    await queries.query('select pg_advisory_xact_lock($1::bigint)', [LOCK])
    const [present] = await queries.query('select from orders where owner = $1 limit 1', [PUBLIC])
    if (present !== undefined) return
    for (const content of demoOrders) await insertOrder(queries, PUBLIC, content)
  })

const demoOrder = (number: number, content: Pick<OrderContent, 'state' | 'items'>): OrderContent => ({
  ...content,
  reference: `DEMO-${number}`,
  customerReference: `C-${1040 + (number % 3)}`,
  currency: 'EUR',
  note: null,
  shipping: 490,
})

const demoOrders: readonly OrderContent[] = [
  demoOrder(1, { state: 'shipped', items: [{ sku: 'TEAPOT-1L', quantity: 1, unitPrice: 2999 }] }),
  demoOrder(2, { state: 'cancelled', items: [{ sku: 'KETTLE-STEEL', quantity: 1, unitPrice: 4550 }] }),
  demoOrder(3, {
    state: 'paid',
    items: [
      { sku: 'CUP-WHITE', quantity: 6, unitPrice: 650 },
      { sku: 'CUP-BLUE', quantity: 6, unitPrice: 690 },
    ],
  }),
  demoOrder(4, { state: 'placed', items: [{ sku: 'TEA-ASSAM-250G', quantity: 4, unitPrice: 875 }] }),
  demoOrder(5, {
    state: 'draft',
    items: [
      { sku: 'TEA-SENCHA-100G', quantity: 2, unitPrice: 1190 },
      { sku: 'STRAINER', quantity: 1, unitPrice: 795 },
    ],
  }),
]
