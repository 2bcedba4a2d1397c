import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import { fastifyPlugin } from 'fastify-plugin'
import { type Check, domainName } from '../../contract/check.ts'
import type { Decision } from '../../contract/decision.ts'
import type { GateDecision, LimiterClient } from '../client.ts'
import { limitExceededBody, rateLimitHeaders, retryAfterS } from './headers.ts'

/** The `Retry-After` of a 503: nobody can know how long an outage lasts. */
const UNAVAILABLE_RETRY_AFTER_S = 5

export type RateLimitOptions = {
  readonly limiter: LimiterClient
  /** The set of policies to look requests up in. */
  readonly domain: string
  /** What is known of the request: what it is charged to (`client`), and what policies match on. */
  readonly attributes: (request: FastifyRequest) => Readonly<Record<string, string>>
  /** Tokens to take: 1 unless said. */
  readonly cost?: (request: FastifyRequest) => number
  /** Answers 503 in the application's own form. `Retry-After` is set. */
  readonly sendUnavailable?: (request: FastifyRequest, reply: FastifyReply, retryAfterS: number) => FastifyReply
  /** Answers 403, in the application's own form, to a request that costs more than its policy's bucket ever holds. */
  readonly sendNeverSatisfiable?: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
  /** Told of each request's decision, before it is acted upon. Never throws. */
  readonly observe?: (gate: GateDecision, request: FastifyRequest) => void
}

/** For a request that Fastify answers without hooks (`frameworkErrors`). Never rejects; true: a reply has been sent. */
export type Gate = (request: FastifyRequest, reply: FastifyReply) => Promise<boolean>

declare module 'fastify' {
  interface FastifyInstance {
    gate: Gate
  }
}

const plugin: FastifyPluginCallback<RateLimitOptions> = (instance, options, done) => {
  const { limiter, observe } = options
  // By Node's request, which is one and the same however often Fastify wraps it.
  const asked = new WeakMap<object, Promise<boolean>>()

  const ask = async (request: FastifyRequest, reply: FastifyReply) => {
    const gate = await limiter.shouldAllow(checkOf(request, options))
    observe?.(gate, request)
    reply.headers(rateLimitHeaders(gate.decision))
    const { decision } = gate
    if (!isRefusal(decision)) return false
    refuse(decision, { request, reply, options })
    return true
  }

  const askOnce: Gate = (request, reply) => {
    const before = asked.get(request.raw)
    if (before !== undefined) return before
    const now = ask(request, reply)
    asked.set(request.raw, now)
    return now
  }

  instance.decorate('gate', async (request: FastifyRequest, reply: FastifyReply) => {
    try {
      return await askOnce(request, reply)
    } catch (error) {
      // Nobody awaits what `frameworkErrors` starts: an error would be nobody's, and the request would hang.
      reply.send(error)
      return true
    }
  })
  // Returning the reply makes Fastify wait until it is out, whatever hooks it still passes through.
  instance.addHook('onRequest', async (request, reply) => ((await askOnce(request, reply)) ? reply : undefined))
  done()
}

/** Put it before every other plugin and hook: it asks about each request that reaches Fastify, first. */
export const rateLimit = fastifyPlugin(plugin, { fastify: '5.x', name: 'weir-rate-limit' })

const checkOf = (request: FastifyRequest, { domain, attributes, cost }: RateLimitOptions): Check => {
  const known = new Map(Object.entries(attributes(request)))
  for (const [name, value] of known)
    if (typeof value !== 'string')
      throw new TypeError(`rateLimit: the attribute ${name} is ${typeof value}, not a string`)
  return { domain: domainName(domain), attributes: known, cost: cost?.(request) ?? 1 }
}

type Refusal = Decision & { readonly verdict: 'deny' }
const isRefusal = (decision: Decision): decision is Refusal => decision.verdict === 'deny'

type Exchange = { readonly request: FastifyRequest; readonly reply: FastifyReply; readonly options: RateLimitOptions }

const refuse = (refusal: Refusal, { request, reply, options }: Exchange) => {
  switch (refusal.basis) {
    case 'bucket':
    case 'share':
      // Bytes, because Fastify adds a charset to the type of a text.
      return reply
        .code(429)
        .header('content-type', 'application/json')
        .send(Buffer.from(limitExceededBody(retryAfterS(refusal.retryAfterMs))))
    case 'store_unavailable':
      reply.code(503).header('retry-after', UNAVAILABLE_RETRY_AFTER_S)
      return (options.sendUnavailable ?? sendUnavailable)(request, reply, UNAVAILABLE_RETRY_AFTER_S)
    case 'never_satisfiable':
      // Not 429, which promises that a wait helps: this caller's policy will never permit it, as 403 says.
      reply.code(403)
      return (options.sendNeverSatisfiable ?? sendNeverSatisfiable)(request, reply)
  }
}

const sendUnavailable = (_request: FastifyRequest, reply: FastifyReply) =>
  reply.send({
    error: { code: 'rate_limit_unavailable', message: 'The rate limit cannot be checked now. Try again later.' },
  })

const sendNeverSatisfiable = (_request: FastifyRequest, reply: FastifyReply) =>
  reply.send({
    error: {
      code: 'rate_limit_never_satisfiable',
      message: 'The request costs more than its rate limit ever permits. Ask for less at a time.',
    },
  })
