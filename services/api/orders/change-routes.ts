import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { apiError } from '../http/api-error.ts'
import { errorResponses } from '../http/error-responses.ts'
import { entityTag, ifMatch, permitsChange } from '../http/etag.ts'
import { noParameters } from '../http/no-parameters.ts'
import type { SchemaTypes } from '../http/schema-types.ts'
import { readBodiesOf } from '../http/strict-input.ts'
import type { Order, OrderContent } from './order.ts'
import { applyPatch, decodeContent, encodeOrder } from './order-body.ts'
import { orderResponse } from './order-responses.ts'
import { orderPatch, wholeOrder } from './order-schema.ts'
import { isPossibleChange, statesAfter } from './order-state.ts'
import { orderId, targetOf } from './order-target.ts'
import type { OrderPorts } from './ports.ts'
import { orderNotFound, referenceTaken } from './refusals.ts'

export const changeRoutes =
  ({ orders }: Pick<OrderPorts, 'orders'>): FastifyPluginAsync =>
  async (plain) => {
    const app = plain.withTypeProvider<SchemaTypes>()

    const change = async (request: ChangeRequest, edit: (order: Order) => OrderContent) => {
      const changed = await orders.change(targetOf(request), (order) => {
        requireMatch(request, order)
        return requirePossible(order, edit(order))
      })
      if (changed.ok) return changed.order
      throw changed.reason === 'not_found' ? orderNotFound(request) : referenceTaken()
    }

    app.put(
      '/v1/orders/:id',
      {
        config: { permission: 'orders:write' },
        schema: {
          operationId: 'replaceOrder',
          tags: ['orders'],
          summary: 'Replace an order',
          params: orderId,
          querystring: noParameters,
          headers: Type.Object({ 'if-match': ifMatch }),
          body: wholeOrder,
          response: { 200: orderResponse('The order as it is now.'), ...changeErrors() },
        },
      },
      async (request, reply) => {
        const order = await change(request, () => decodeContent(request.body))
        reply.header('etag', entityTag(order.version))
        return encodeOrder(order)
      },
    )

    await app.register(async (scope) => {
      const mediaTypes = ['application/merge-patch+json', 'application/json']
      readBodiesOf(scope, mediaTypes)
      scope.withTypeProvider<SchemaTypes>().patch(
        '/v1/orders/:id',
        {
          config: { permission: 'orders:write' },
          schema: {
            operationId: 'patchOrder',
            tags: ['orders'],
            summary: 'Change parts of an order',
            consumes: mediaTypes,
            params: orderId,
            querystring: noParameters,
            headers: Type.Object({ 'if-match': ifMatch }),
            body: orderPatch,
            response: { 200: orderResponse('The order as it is now.'), ...changeErrors() },
          },
        },
        async (request, reply) => {
          const order = await change(request, (present) => applyPatch(present, request.body))
          reply.header('etag', entityTag(order.version))
          return encodeOrder(order)
        },
      )
    })

    app.delete(
      '/v1/orders/:id',
      {
        config: { permission: 'orders:write' },
        schema: {
          operationId: 'deleteOrder',
          tags: ['orders'],
          summary: 'Delete an order and its items',
          params: orderId,
          querystring: noParameters,
          headers: Type.Object({ 'if-match': ifMatch }),
          response: {
            204: Type.Null({ description: 'It is gone.' }),
            ...errorResponses(
              'credential_required',
              'permission_denied',
              'order_not_found',
              'order_changed',
              'body_too_large',
              'media_type_unsupported',
              'invalid_value',
              'database_unavailable',
            ),
          },
        },
      },
      async (request, reply) => {
        const wasThere = await orders.remove(targetOf(request), (order) => requireMatch(request, order))
        if (!wasThere) throw orderNotFound(request)
        return reply.code(204).send()
      },
    )
  }

type ChangeRequest = Parameters<typeof targetOf>[0] & { readonly headers: { readonly 'if-match'?: string } }

const requireMatch = ({ headers }: ChangeRequest, order: Order) => {
  if (!permitsChange(headers['if-match'], entityTag(order.version)))
    throw apiError(409, 'order_changed', 'The order has been changed since. Read it again.', 'if-match')
}

const requirePossible = (order: Order, content: OrderContent) => {
  if (isPossibleChange(order.state, content.state)) return content
  const possible = statesAfter(order.state)
  const remedy = possible.length === 0 ? 'It stays in this state' : `It can become ${possible.join(' or ')}`
  throw apiError(
    422,
    'order_state_impossible',
    `The order is ${order.state} and cannot become ${content.state}. ${remedy}.`,
    'state',
  )
}

const changeErrors = () =>
  errorResponses(
    'malformed_body',
    'missing_field',
    'wrong_type',
    'credential_required',
    'permission_denied',
    'order_not_found',
    'order_reference_taken',
    'order_changed',
    'body_too_large',
    'media_type_unsupported',
    'invalid_value',
    'order_state_impossible',
    'database_unavailable',
  )
