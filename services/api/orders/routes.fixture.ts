import { randomUUID } from 'node:crypto'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, beforeAll, expect } from 'vitest'
import type { Database } from '../database/database.ts'
import { openOrThrow } from '../database/databases.fixture.ts'
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

/** The routes over an embedded database of their own, for the tests of a file. */
export const useRoutes = () => {
  const opened = new AsyncDisposableStack()
  let database: Database
  let app: FastifyInstance
  beforeAll(async () => {
    database = opened.use(await openOrThrow('pglite:memory'))
    app = await createRoutesApp(database)
    opened.defer(() => app.close())
  })
  afterAll(() => opened.disposeAsync())
  return {
    app: () => app,
    database: () => database,
    /** Calls of an owner that has no orders yet. */
    stranger: () => callAs(app, randomUUID()),
    anybody: () => callAs(app, undefined),
  }
}

/** A body that makes an order, or replaces one. */
export const bodyOf = (change: object = {}) => ({
  currency: 'EUR',
  items: [{ sku: 'A', quantity: 2, unit_price: 150 }],
  ...change,
})

export const refusal = (status: number, code: string, field?: string) => ({
  status,
  body: { error: { code, message: expect.any(String), ...(field !== undefined && { field }) } },
})
