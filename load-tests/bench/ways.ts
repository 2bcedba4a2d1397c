import { Client, credentials } from '@grpc/grpc-js'
import { Redis } from 'ioredis'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { domainName } from '../../services/contract/check.ts'
import { createStreamTransport } from '../../services/limiter-client/replicas/stream-transport.ts'
import { encodeCheck } from '../../services/wire/check.ts'
import { rateLimitServiceV3 } from '../../services/wire/envoy-protocol.ts'
import { rateLimitService } from '../../services/wire/protocol.ts'

export type Addresses = { readonly limiter: string; readonly peer: string | undefined; readonly redisPort: number }

/** What became of one check. `local`: not counted in the store. */
export type Outcome = 'counted' | 'local' | 'failed'

/** Asks for one client's request. */
export type Way = AsyncDisposable & { readonly ask: (client: string) => Promise<Outcome> }

const DEADLINE_MS = 5_000

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
      return asked.answer.decision.basis === 'bucket' ? 'counted' : 'local'
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
    outcomeOf: ({ basis }) => (basis === 'BUCKET' ? 'counted' : 'local'),
  })

const shouldRateLimit = (address: string) =>
  unary(address, rateLimitServiceV3.ShouldRateLimit, {
    requestOf: (client) => ({ domain: 'api', descriptors: [{ entries: [{ key: 'client', value: client }] }] }),
    outcomeOf: ({ overallCode }) => (overallCode === 'OK' ? 'counted' : 'failed'),
  })

const inProcess = async ({ redisPort }: Addresses): Promise<Way> => {
  const redis = new Redis(redisPort, '127.0.0.1')
  const limiter = new RateLimiterRedis({ storeClient: redis, points: 100_000, duration: 60 })
  return {
    ask: (client) =>
      limiter.consume(client).then(
        () => 'counted',
        () => 'failed',
      ),
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

/** The yardstick: nothing decided, one answer of Redis for one question. */
const bareGet = async ({ redisPort }: Addresses): Promise<Way> => {
  const redis = new Redis(redisPort, '127.0.0.1')
  return {
    ask: async (client) => {
      await redis.get(`bench:${client}`)
      return 'counted'
    },
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  }
}

/** Undefined: what it needs is not on this machine. */
export const ways = {
  'Weir, stream': stream,
  'Weir, ShouldAllow': shouldAllow,
  'Weir, ShouldRateLimit': async ({ limiter }: Addresses) => shouldRateLimit(limiter),
  'envoyproxy/ratelimit': async ({ peer }: Addresses) => (peer === undefined ? undefined : shouldRateLimit(peer)),
  'rate-limiter-flexible, in process': inProcess,
  'bare GET by ioredis': bareGet,
} as const satisfies Record<string, (addresses: Addresses) => Promise<Way | undefined>>

export type WayName = keyof typeof ways
export const wayNames = Object.keys(ways) as WayName[]
