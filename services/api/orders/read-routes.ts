import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { apiError } from '../http/api-error.ts'
import type { CursorList } from '../http/cursor.ts'
import { errorResponses } from '../http/error-responses.ts'
import { entityTag, ifNoneMatch, isKnown } from '../http/etag.ts'
import { noParameters } from '../http/no-parameters.ts'
import { effectiveLimit, pageOf, toPage } from '../http/page.ts'
import type { SchemaTypes } from '../http/schema-types.ts'
import { decodeFilter, itemList, itemListParameters, orderList, orderListParameters } from './list-parameters.ts'
import { encodeItem, encodeOrder } from './order-body.ts'
import { orderResponse } from './order-responses.ts'
import { orderId, targetOf } from './order-target.ts'
import { ownerOf } from './owner.ts'
import type { OrderPorts } from './ports.ts'
import { orderNotFound } from './refusals.ts'

export const readRoutes =
  ({ orders, cursors }: OrderPorts): FastifyPluginAsync =>
  async (plain) => {
    const app = plain.withTypeProvider<SchemaTypes>()

    const positionIn = (list: CursorList, cursor: string | undefined) => {
      if (cursor === undefined) return []
      const position = cursors.verify(list, cursor)
      if (position !== undefined) return position
      throw apiError(400, 'cursor_invalid', 'The cursor is not one of this list with these filters.', 'cursor')
    }

    app.get(
      '/v1/orders',
      {
        config: { permission: 'orders:read' },
        schema: {
          operationId: 'listOrders',
          tags: ['orders'],
          summary: 'The orders of the caller, newest first',
          description: 'Without an API key: the public demo orders.',
          querystring: orderListParameters,
          response: {
            200: { ...pageOf(Type.Ref('Order')), description: 'A page.' },
            ...errorResponses(
              'wrong_type',
              'cursor_invalid',
              'permission_denied',
              'invalid_value',
              'database_unavailable',
            ),
          },
        },
      },
      async ({ query, caller }) => {
        const owner = ownerOf(caller)
        const filter = decodeFilter(query)
        const list = orderList(owner, filter)
        const limit = effectiveLimit(query.limit)
        const [createdAtMs, id] = positionIn(list, query.cursor)
        const after = id === undefined ? undefined : { createdAtMs: Number(createdAtMs), id }
        return toPage({
          rows: await orders.list({ owner, filter, after, limit: limit + 1 }),
          limit,
          encode: encodeOrder,
          cursorAfter: (order) => cursors.sign(list, [String(order.createdAtMs), order.id]),
        })
      },
    )

    app.get(
      '/v1/orders/:id',
      {
        config: { permission: 'orders:read' },
        schema: {
          operationId: 'getOrder',
          tags: ['orders'],
          summary: 'One order',
          params: orderId,
          querystring: noParameters,
          headers: Type.Object({ 'if-none-match': ifNoneMatch }),
          response: {
            200: orderResponse('The order.'),
            304: Type.Null({ description: 'The client has it already.' }),
            ...errorResponses('permission_denied', 'order_not_found', 'invalid_value', 'database_unavailable'),
          },
        },
      },
      async (request, reply) => {
        const order = await orders.find(targetOf(request))
        if (order === undefined) throw orderNotFound(request)
        const tag = entityTag(order.version)
        reply.header('etag', tag)
        if (isKnown(request.headers['if-none-match'], tag)) return reply.code(304).send()
        return encodeOrder(order)
      },
    )

    app.get(
      '/v1/orders/:id/items',
      {
        config: { permission: 'orders:read' },
        schema: {
          operationId: 'listOrderItems',
          tags: ['orders'],
          summary: 'The items of an order, in its order',
          params: orderId,
          querystring: itemListParameters,
          response: {
            200: { ...pageOf(Type.Ref('Item')), description: 'A page.' },
            ...errorResponses(
              'wrong_type',
              'cursor_invalid',
              'permission_denied',
              'order_not_found',
              'invalid_value',
              'database_unavailable',
            ),
          },
        },
      },
      async (request) => {
        const { query } = request
        const target = targetOf(request)
        const list = itemList(target.owner, target.id, query.sku)
        const limit = effectiveLimit(query.limit)
        const [after] = positionIn(list, query.cursor)
        const rows = await orders.listItems({ ...target, sku: query.sku, after, limit: limit + 1 })
        if (rows === undefined) throw orderNotFound(request)
        return toPage({ rows, limit, encode: encodeItem, cursorAfter: (item) => cursors.sign(list, [item.id]) })
      },
    )
  }
