import type { FastifyPluginAsync } from 'fastify'
import { Type } from 'typebox'
import { errorResponses } from '../http/error-responses.ts'
import { entityTag } from '../http/etag.ts'
import { fingerprint, idempotencyKey, keyInUse, keyReused } from '../http/idempotency.ts'
import { noParameters } from '../http/no-parameters.ts'
import type { SchemaTypes } from '../http/schema-types.ts'
import { decodeContent, encodeOrder } from './order-body.ts'
import { orderResponse } from './order-responses.ts'
import { newOrder } from './order-schema.ts'
import { ownerOf } from './owner.ts'
import type { OrderPorts } from './ports.ts'
import { referenceTaken } from './refusals.ts'
import type { Created } from './repository.ts'

export const createRoutes =
  ({ orders }: Pick<OrderPorts, 'orders'>): FastifyPluginAsync =>
  async (plain) => {
    plain.withTypeProvider<SchemaTypes>().post(
      '/v1/orders',
      {
        config: { permission: 'orders:write' },
        schema: {
          operationId: 'createOrder',
          tags: ['orders'],
          summary: 'Create an order',
          querystring: noParameters,
          headers: Type.Object({ 'idempotency-key': idempotencyKey }),
          body: newOrder,
          response: {
            201: orderResponse('The order, created now or by the first request with this `Idempotency-Key`.', {
              Location: Type.String({ description: 'The path of the order.' }),
            }),
            ...errorResponses(
              'malformed_body',
              'missing_field',
              'wrong_type',
              'credential_required',
              'permission_denied',
              'order_reference_taken',
              'idempotency_key_in_use',
              'body_too_large',
              'media_type_unsupported',
              'invalid_value',
              'idempotency_key_reused',
              'database_unavailable',
            ),
          },
        },
      },
      async ({ body, headers, caller }, reply) => {
        const owner = ownerOf(caller)
        const content = decodeContent(body)
        const key = headers['idempotency-key']
        const attempt =
          key === undefined ? undefined : { client: owner, key, fingerprint: fingerprint('POST /v1/orders', content) }
        const created = await orders.create(owner, content, attempt)
        if (!created.ok) throw refusalOf(created.reason)
        const { order } = created
        reply.code(201).header('location', `/v1/orders/${order.id}`).header('etag', entityTag(order.version))
        return encodeOrder(order)
      },
    )
  }

const refusalOf = (reason: Extract<Created, { ok: false }>['reason']) => {
  switch (reason) {
    case 'in_use':
      return keyInUse()
    case 'reused':
      return keyReused()
    case 'reference_taken':
      return referenceTaken()
  }
}
