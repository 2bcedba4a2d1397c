import { v7 } from 'uuid'

/** Opaque to clients; in the order in which one process made them, and nearly so over all processes. */
export const newOrderId = () => `ord_${compactUuid()}`
export const newItemId = () => `itm_${compactUuid()}`

const compactUuid = () => v7().replaceAll('-', '')

/** Any other text is the id of no order. */
export const isOrderId = (text: string) => /^ord_[0-9a-f]{32}$/.test(text)
