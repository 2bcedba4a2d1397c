import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isOrderId } from './identifiers.ts'
import { ownerOf } from './owner.ts'
import { orderNotFound } from './refusals.ts'
import type { OrderTarget } from './repository.ts'

export const orderId = Type.Object({ id: Type.String({ description: 'The order’s `id`.' }) })

type Targeted = { readonly params: { readonly id: string }; readonly caller: FastifyRequest['caller'] }

/** The order that a path names. Throws when its id cannot be one. */
export const targetOf = (request: Targeted): OrderTarget => {
  if (!isOrderId(request.params.id)) throw orderNotFound(request)
  return { owner: ownerOf(request.caller), id: request.params.id }
}
