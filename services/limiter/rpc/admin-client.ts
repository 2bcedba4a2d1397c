import { Client, credentials, logVerbosity, Metadata, setLogVerbosity, status } from '@grpc/grpc-js'
import type { Quota } from '../../contract/decision.ts'
import { decodeQuotas } from '../../wire/admin.ts'
import { adminService } from '../../wire/protocol.ts'
import { STORE_UNAVAILABLE } from './status.ts'

const DEADLINE_MS = 5_000

export type Question = { readonly domain: string; readonly attributes: Readonly<Record<string, string>> }
export type PeekedBucket = { readonly policy: string; readonly quota: Quota; readonly shadow: boolean }
export type Asked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly problem: string }

export type AdminClient = Disposable & {
  readonly peek: (question: Question) => Promise<Asked<readonly PeekedBucket[]>>
  /** The policies whose buckets are full now. */
  readonly reset: (question: Question, policy: string | undefined) => Promise<Asked<readonly string[]>>
}

/** As PEM. */
export type AdminTls = {
  readonly ca: string | undefined
  readonly identity: { readonly cert: string; readonly key: string } | undefined
  /** In the limiter's certificate, where its address has another: behind a port-forward, for example. */
  readonly name: string | undefined
}

type Options = {
  /** `host:port` or `unix:/path`. */
  readonly target: string
  readonly token: string
  /** Absent: in plain text. */
  readonly tls: AdminTls | undefined
}

/** Speaks to one limiter with the admin token. */
export const createAdminClient = ({ target, token, tls }: Options): AdminClient => {
  setLogVerbosity(logVerbosity.NONE)
  const security = tls === undefined ? credentials.createInsecure() : tlsCredentials(tls)
  const client = new Client(
    target,
    security,
    tls?.name === undefined ? {} : { 'grpc.ssl_target_name_override': tls.name },
  )
  const metadata = new Metadata()
  metadata.set('authorization', `Bearer ${token}`)

  const call = <Request, Response>(method: Method<Request, Response>, request: Request) =>
    new Promise<Asked<Response>>((resolve) => {
      const { path, requestSerialize, responseDeserialize } = method
      const options = { deadline: Date.now() + DEADLINE_MS }
      client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        metadata,
        options,
        (error, response) => {
          if (response !== undefined) resolve({ ok: true, value: response })
          else resolve({ ok: false, problem: problemOf(target, error?.code, error?.details ?? '') })
        },
      )
    })

  return {
    peek: async (question) => {
      const asked = await call(adminService.Peek, question)
      return asked.ok ? { ok: true, value: decodeQuotas(asked.value) } : asked
    },
    reset: async (question, policy) => {
      const asked = await call(adminService.Reset, { ...question, ...(policy !== undefined && { policy }) })
      return asked.ok ? { ok: true, value: asked.value.policies } : asked
    },
    [Symbol.dispose]: () => client.close(),
  }
}

const tlsCredentials = ({ ca, identity }: AdminTls) => {
  const pem = (text: string | undefined) => (text === undefined ? null : Buffer.from(text))
  return credentials.createSsl(pem(ca), pem(identity?.key), pem(identity?.cert))
}

type Method<Request, Response> = {
  readonly path: string
  readonly requestSerialize: (request: Request) => Buffer
  readonly responseDeserialize: (bytes: Buffer) => Response
}

const problemOf = (target: string, code: status | undefined, details: string) => {
  switch (code) {
    case status.UNAVAILABLE:
      // The limiter's own words, when it is the store that is away.
      return details === STORE_UNAVAILABLE ? `the limiter at ${target} answers, but ${details}` : unreachable(target)
    case status.DEADLINE_EXCEEDED:
      return unreachable(target)
    case status.UNIMPLEMENTED:
      return `the limiter at ${target} serves no admin calls: start it with LIMITER_ADMIN_TOKEN_FILE`
    case status.UNAUTHENTICATED:
      return `the limiter at ${target} does not accept this token: LIMITER_ADMIN_TOKEN_FILE must name the file that the limiter reads`
    default:
      return details
  }
}

const unreachable = (target: string) =>
  `no limiter answers at ${target}: is it running, and are LIMITER_ADDRESS and LIMITER_TLS_CA right?`
