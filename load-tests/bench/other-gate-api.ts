// The API without its gate, to compare with, or with @fastify/rate-limit instead (REDIS_PORT): all else is as `services/api/main.ts` has it.
import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, preHandlerAsyncHookHandler } from 'fastify'
import { Redis } from 'ioredis'
import { publishRequests } from '../../services/api/api-metrics.ts'
import { buildApp } from '../../services/api/app.ts'
import { createConnectionBook } from '../../services/api/http/connection/connection-book.ts'
import { createCursorSigner } from '../../services/api/http/cursor.ts'
import { redactApiKeys } from '../../services/api/identify/api-key.ts'
import { createIdentify } from '../../services/api/identify/identify.ts'
import { peerAddress } from '../../services/api/identify/peer-address.ts'
import { createOrderRepository } from '../../services/api/orders/repository.ts'
import { ordersRoutes } from '../../services/api/orders/routes.ts'
import { openCursorSecrets, openKeys, openOrders } from '../../services/api/resources.ts'
import { readApiSettings } from '../../services/api/settings.ts'
import { createLog } from '../../services/platform/log.ts'
import { createMetrics } from '../../services/platform/metrics.ts'
import { runService } from '../../services/platform/process.ts'

/** Never reached: every request is counted, none refused. */
const NEVER_REACHED = 1_000_000_000

/** Asks as our gate does: first of all, and for the client that the request was found to be of. */
const gateByLibrary = (app: FastifyInstance, redis: Redis) => {
  let limit: preHandlerAsyncHookHandler
  void app.register(rateLimit, {
    global: false,
    redis,
    max: NEVER_REACHED,
    timeWindow: 60_000,
    keyGenerator: ({ identity }) => identity.client,
  })
  app.after(() => {
    limit = app.rateLimit()
  })
  app.addHook('onRequest', (request, reply) => limit.call(app, request, reply))
}

await runService({
  name: 'other-gate-api',
  start: async (resources) => {
    const read = readApiSettings(process.env)
    if (!read.ok) return read
    const { settings } = read
    const log = createLog('api', settings.LOG_LEVEL, redactApiKeys)
    const keys = await openKeys(settings.API_KEYS, log)
    const secrets = await openCursorSecrets(settings.API_CURSOR_SECRET_FILE, log)
    const database = await openOrders(settings, log)
    if (!keys.ok || !secrets.ok || !database.ok) return { ok: false, faults: ['the API cannot open what it needs'] }
    resources.use(keys.value)
    resources.use(secrets.value)
    resources.use(database.value)
    const app = buildApp({
      log,
      identify: createIdentify({ trustedProxies: settings.API_TRUSTED_PROXIES, keys: keys.value.current }),
      limiter: undefined,
      domain: 'api',
      resources: [
        ordersRoutes({
          orders: createOrderRepository(database.value),
          cursors: createCursorSigner(secrets.value.current),
        }),
      ],
      isDraining: () => false,
      connections: createConnectionBook({
        perAddress: settings.API_CONNECTIONS_PER_ADDRESS,
        addressOf: (peer) => peerAddress(peer, settings.API_TRUSTED_PROXIES),
      }),
      observe: publishRequests(createMetrics()),
    })
    const redisPort = process.env['REDIS_PORT']
    if (redisPort !== undefined) {
      const redis = new Redis(Number(redisPort), '127.0.0.1')
      resources.defer(() => redis.disconnect())
      gateByLibrary(app, redis)
    }
    const { host, port } = settings.API_ADDRESS
    await app.listen({ host, port })
    resources.defer(() => {
      app.server.closeAllConnections()
      return app.close()
    })
    return { ok: true }
  },
})
