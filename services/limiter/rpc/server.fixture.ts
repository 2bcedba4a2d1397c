import { Client, credentials, Metadata, type ServiceError } from '@grpc/grpc-js'
import { domainName } from '../../contract/check.ts'
import { policyName } from '../../contract/decision.ts'
import { adminService, rateLimitService } from '../../wire/protocol.ts'
import { createLimiter } from '../core/limiter.ts'
import { createMemoryStore } from '../core/memory-store.ts'
import { silentObserver } from '../core/observer.ts'
import type { BucketStore } from '../core/store.ts'
import type { HeaderMode } from '../envoy/response.ts'
import { type Admin, createRpcServer } from './server.ts'

type Options = {
  readonly admin?: Admin
  readonly store?: BucketStore
  readonly onBug?: (error: unknown) => void
  readonly target?: string
  readonly envoyHeaders?: HeaderMode
} & Pick<Parameters<typeof createRpcServer>[0], 'tls' | 'onRefused' | 'tracing'>

const failTest = (error: unknown) => {
  throw error
}

/** A real server on a free port, with one policy: 10 tokens by client, 1 a minute. */
export const openServer = async (options: Options = {}) => {
  const { admin, store, onBug = failTest, target = '127.0.0.1:0', envoyHeaders = 'refusals', ...security } = options
  const domain = domainName('api')
  const policy = {
    kind: 'counting',
    name: policyName('per-client'),
    conditions: [],
    by: ['client'],
    rule: { capacityTokens: 10, refillTokens: 1, periodS: 60 },
    overrides: [],
    mode: 'enforce',
    onStoreFailure: 'share',
  } as const
  const limiter = createLimiter({
    policies: () => new Map([[domain, { domain, subject: 'client', policies: [policy] }]]),
    store: store ?? createMemoryStore({ nowUs: () => 1_700_000_000_000_000 }),
    localStore: createMemoryStore({ nowUs: () => 1_700_000_000_000_000 }),
    observer: silentObserver,
  })
  const server = createRpcServer({ limiter, admin, onBug, envoyHeaders, ...security })
  const bound = await server.listen(target)
  if (!bound.ok) throw bound.fault.error
  return { server, port: bound.port, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() }
}

export type Reply<Response> =
  | { readonly ok: true; readonly response: Response }
  | { readonly ok: false; readonly error: ServiceError }

/** Calls as any gRPC client makes them; a failed call is a value. */
export const openClient = (target: string, security = credentials.createInsecure()) => {
  const client = new Client(target, security, {
    'grpc.max_send_message_length': -1,
    // Connections of its own.
    'grpc.use_local_subchannel_pool': 1,
  })
  const call = <Request, Response>(
    method: {
      path: string
      requestSerialize: (request: Request) => Buffer
      responseDeserialize: (bytes: Buffer) => Response
    },
    request: Request,
    token?: string,
  ) =>
    new Promise<Reply<Response>>((resolve) => {
      const metadata = new Metadata()
      if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
      const deadline = Date.now() + 10_000
      client.makeUnaryRequest(
        method.path,
        method.requestSerialize,
        method.responseDeserialize,
        request,
        metadata,
        { deadline },
        (error, response) =>
          resolve(
            error === null && response !== undefined
              ? { ok: true, response }
              : { ok: false, error: error as ServiceError },
          ),
      )
    })
  return {
    shouldAllow: (request: Parameters<typeof rateLimitService.ShouldAllow.requestSerialize>[0]) =>
      call(rateLimitService.ShouldAllow, request),
    /** ShouldAllow with whatever bytes. */
    sendBytes: (bytes: Buffer) =>
      call({ ...rateLimitService.ShouldAllow, requestSerialize: (raw: Buffer) => raw }, bytes),
    peek: (request: Parameters<typeof adminService.Peek.requestSerialize>[0], token?: string) =>
      call(adminService.Peek, request, token),
    reset: (request: Parameters<typeof adminService.Reset.requestSerialize>[0], token?: string) =>
      call(adminService.Reset, request, token),
    call,
    /** The first message of a stream, which is cancelled then. */
    watch: <Request, Response>(
      method: {
        path: string
        requestSerialize: (request: Request) => Buffer
        responseDeserialize: (bytes: Buffer) => Response
      },
      request: Request,
    ) =>
      new Promise<Response>((resolve, reject) => {
        const { path, requestSerialize, responseDeserialize } = method
        const stream = client.makeServerStreamRequest(
          path,
          requestSerialize,
          responseDeserialize,
          request,
          new Metadata(),
        )
        stream.once('data', (first: Response) => {
          stream.on('error', () => {})
          stream.cancel()
          resolve(first)
        })
        stream.once('error', reject)
      }),
    [Symbol.dispose]: () => client.close(),
  }
}
