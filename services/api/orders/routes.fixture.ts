import swagger from '@fastify/swagger'
import { type FastifyInstance, fastify } from 'fastify'
import type { Database } from '../database/database.ts'
import { createCursorSigner } from '../http/cursor.ts'
import { renderErrors } from '../http/render-errors.ts'
import { createOrderRepository } from './repository.ts'
import { ordersRoutes } from './routes.ts'

export const secrets = ['the secret of the tests'] as const

/** The routes alone: a caller is whoever `x-owner` says, and nobody is anonymous. */
export const createRoutesApp = async (database: Database): Promise<FastifyInstance> => {
  const app = fastify({ logger: false, routerOptions: { maxParamLength: 8192 } })
  renderErrors(app)
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    const owner = request.headers['x-owner']
    request.caller =
      typeof owner === 'string'
        ? { kind: 'key', keyId: 'k1', owner, plan: 'free', permissions: new Set() }
        : { kind: 'anonymous' }
  })
  await app.register(swagger, {
    openapi: { openapi: '3.1.0', info: { title: 'test', version: '1' } },
    refResolver: { buildLocalReference: ({ $id }, _base, _fragment, index) => String($id ?? index) },
  })
  await app.register(
    ordersRoutes({ orders: createOrderRepository(database), cursors: createCursorSigner(() => secrets) }),
  )
  await app.ready()
  return app
}

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Sent = { readonly body?: unknown; readonly text?: string; readonly headers?: Readonly<Record<string, string>> }

/** Requests of one owner, whose orders no other test sees. */
export const callAs =
  (app: FastifyInstance, owner: string | undefined) =>
  async (method: Method, url: string, { body, text, headers }: Sent = {}) => {
    const payload = text ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await app.inject({
      method,
      url,
      headers: {
        ...(owner !== undefined && { 'x-owner': owner }),
        ...(payload !== undefined && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(payload !== undefined && { payload }),
    })
    return {
      status: response.statusCode,
      headers: response.headers,
      text: response.body,
      body: response.body === '' ? undefined : response.json(),
    }
  }
