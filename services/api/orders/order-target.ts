import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { apiError } from '../http/api-error.ts'
import { isOrderId } from './identifiers.ts'
import { ownerOf } from './owner.ts'
import type { OrderTarget } from './repository.ts'

export const orderId = Type.Object({ id: Type.String({ description: 'The order’s `id`.' }) })

type Targeted = { readonly params: { readonly id: string }; readonly caller: FastifyRequest['caller'] }

/** The order that a path names. Throws when its id cannot be one. */
export const targetOf = (request: Targeted): OrderTarget => {
  if (!isOrderId(request.params.id)) throw orderNotFound(request)
  return { owner: ownerOf(request.caller), id: request.params.id }
}

const LONGEST_ID = 64

export const orderNotFound = ({ params: { id } }: Pick<Targeted, 'params'>) =>
  apiError(
    404,
    'order_not_found',
    `No order has the id ${id.length > LONGEST_ID ? `${id.slice(0, LONGEST_ID)}…` : id}.`,
    'id',
  )
