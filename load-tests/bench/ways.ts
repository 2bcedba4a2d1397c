import rateLimit from '@fastify/rate-limit'
import { Client, credentials } from '@grpc/grpc-js'
import { type FastifyRequest, fastify } from 'fastify'
import { Redis } from 'ioredis'
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible'
import { domainName } from '../../services/contract/check.ts'
import { createStreamTransport } from '../../services/limiter-client/replicas/stream-transport.ts'
import { encodeCheck } from '../../services/wire/check.ts'
import { rateLimitServiceV3 } from '../../services/wire/envoy-protocol.ts'
import { rateLimitService } from '../../services/wire/protocol.ts'

export type Addresses = { readonly limiter: string; readonly peer: string | undefined; readonly redisPort: number }

/** What became of one check. `local`: not counted in the store. */
export type Outcome = 'passed' | 'refused' | 'local' | 'failed'

/** Asks for one client's request. */
export type Way = AsyncDisposable & { readonly ask: (client: string) => Promise<Outcome> }

const DEADLINE_MS = 5_000
/** Of the libraries, of which each has one limit for all clients: the busiest one is not refused either. */
const LIBRARY_LIMIT = 1_000_000_000

/** What the reference API says of a request. */
const checkOf = (client: string) => ({
  domain: domainName('api'),
  attributes: new Map([
    ['client', client],
    ['plan', 'free'],
    ['route', 'GET /v1/orders/{id}'],
    ['method', 'GET'],
  ]),
  cost: 1,
})

/** Our client: one stream. */
const stream = async ({ limiter }: Addresses): Promise<Way> => {
  const transport = createStreamTransport({ address: limiter })
  return {
    ask: async (client) => {
      const asked = await transport.ask(checkOf(client), DEADLINE_MS)
      if (!asked.ok) return 'failed'
      const { basis, verdict } = asked.answer.decision
      if (basis !== 'bucket') return 'local'
      return verdict === 'allow' ? 'passed' : 'refused'
    },
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

type Unary<Request, Response> = {
  readonly path: string
  readonly requestSerialize: (request: Request) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => Response
}

/** One gRPC client for every server that is asked call by call. */
const unary = <Request, Response>(
  address: string,
  method: Unary<Request, Response>,
  { requestOf, outcomeOf }: { requestOf: (client: string) => Request; outcomeOf: (response: Response) => Outcome },
): Way => {
  const grpc = new Client(address, credentials.createInsecure(), { 'grpc.enable_channelz': 0 })
  return {
    ask: (client) =>
      new Promise((resolve) => {
        const { path, requestSerialize, responseDeserialize } = method
        grpc.makeUnaryRequest(path, requestSerialize, responseDeserialize, requestOf(client), (error, response) =>
          resolve(error !== null || response === undefined ? 'failed' : outcomeOf(response)),
        )
      }),
    [Symbol.asyncDispose]: async () => grpc.close(),
  }
}

const shouldAllow = async ({ limiter }: Addresses) =>
  unary(limiter, rateLimitService.ShouldAllow, {
    requestOf: (client) => encodeCheck(checkOf(client)),
    outcomeOf: ({ basis, verdict }) => {
      if (basis !== 'BUCKET') return 'local'
      return verdict === 'ALLOW' ? 'passed' : 'refused'
    },
  })

const shouldRateLimit = (address: string) =>
  unary(address, rateLimitServiceV3.ShouldRateLimit, {
    requestOf: (client) => ({ domain: 'api', descriptors: [{ entries: [{ key: 'client', value: client }] }] }),
    outcomeOf: ({ overallCode }) => {
      if (overallCode === 'OK') return 'passed'
      return overallCode === 'OVER_LIMIT' ? 'refused' : 'failed'
    },
  })

const rateLimiterFlexible = async ({ redisPort }: Addresses): Promise<Way> => {
  const redis = new Redis(redisPort, '127.0.0.1')
  const limiter = new RateLimiterRedis({ storeClient: redis, points: LIBRARY_LIMIT, duration: 60 })
  return {
    ask: (client) =>
      limiter.consume(client).then(
        () => 'passed',
        (reason) => (reason instanceof RateLimiterRes ? 'refused' : 'failed'),
      ),
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

/** Its limiter alone, which its hook calls for each request. */
const fastifyRateLimit = async ({ redisPort }: Addresses): Promise<Way> => {
  const redis = new Redis(redisPort, '127.0.0.1')
  const app = fastify()
  await app.register(rateLimit, {
    redis,
    max: LIBRARY_LIMIT,
    timeWindow: 60_000,
    keyGenerator: ({ id }) => id,
  })
  await app.ready()
  const limit = app.createRateLimit()
  return {
    ask: async (client) => {
      // All that it reads of a request.
      const request = { id: client, routeOptions: { config: {} } } as FastifyRequest
      const limited = await limit(request).catch(() => undefined)
      if (limited === undefined) return 'failed'
      return !limited.isAllowed && limited.isExceeded ? 'refused' : 'passed'
    },
    [Symbol.asyncDispose]: async () => {
      await app.close()
      redis.disconnect()
    },
  }
}

/** The yardstick: nothing decided, one answer of Redis for one question. */
const bareGet = async ({ redisPort }: Addresses): Promise<Way> => {
  const redis = new Redis(redisPort, '127.0.0.1')
  return {
    ask: async (client) => {
      await redis.get(`bench:${client}`)
      return 'passed'
    },
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

export type Entry = {
  /** The process between the client and Redis, if there is one. */
  readonly server?: 'limiter' | 'peer'
  /** Undefined: what it needs is not on this machine. */
  readonly open: (addresses: Addresses) => Promise<Way | undefined>
}

export const ways = {
  'Weir, stream': { server: 'limiter', open: stream },
  'Weir, ShouldAllow': { server: 'limiter', open: shouldAllow },
  'Weir, ShouldRateLimit': { server: 'limiter', open: async ({ limiter }) => shouldRateLimit(limiter) },
  'envoyproxy/ratelimit': {
    server: 'peer',
    open: async ({ peer }) => (peer === undefined ? undefined : shouldRateLimit(peer)),
  },
  'rate-limiter-flexible, in process': { open: rateLimiterFlexible },
  '@fastify/rate-limit, in process': { open: fastifyRateLimit },
  'bare GET by ioredis': { open: bareGet },
} as const satisfies Record<string, Entry>

export type WayName = keyof typeof ways
export const wayNames = Object.keys(ways) as WayName[]
