import type { FastifyPluginAsync } from 'fastify'
import { DatabaseUnavailable } from '../database/database.ts'
import { apiError, withHeaders } from '../http/api-error.ts'
import { readStrictly } from '../http/strict-input.ts'
import { changeRoutes } from './change-routes.ts'
import { createRoutes } from './create-routes.ts'
import { itemSchema, orderSchema } from './order-schema.ts'
import type { OrderPorts } from './ports.ts'
import { readRoutes } from './read-routes.ts'

/** `/v1/orders` and everything below. */
export const ordersRoutes =
  (ports: OrderPorts): FastifyPluginAsync =>
  async (app) => {
    app.addSchema(itemSchema)
    app.addSchema(orderSchema)
    readStrictly(app)
    app.setErrorHandler((error) => {
      throw error instanceof DatabaseUnavailable ? unavailable() : error
    })
    await app.register(readRoutes(ports))
    await app.register(createRoutes(ports))
    await app.register(changeRoutes(ports))
  }

const unavailable = () =>
  withHeaders(apiError(503, 'database_unavailable', 'The orders cannot be reached now. Try again later.'), {
    'retry-after': '2',
  })
