import { apiError } from '../http/api-error.ts'

const LONGEST_ID = 64

export const orderNotFound = ({ params: { id } }: { readonly params: { readonly id: string } }) =>
  apiError(
    404,
    'order_not_found',
    `No order has the id ${id.length > LONGEST_ID ? `${id.slice(0, LONGEST_ID)}…` : id}.`,
    'id',
  )

export const referenceTaken = () =>
  apiError(409, 'order_reference_taken', 'Another of your orders has this reference.', 'reference')
