import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LimiterClient } from '../limiter-client/client.ts'
import { rateLimit } from '../limiter-client/fastify/fastify-plugin.ts'
import { allowedMethods } from './http/allowed-methods.ts'
import { type ApiError, apiError, withHeaders } from './http/api-error.ts'
import { headerLines } from './http/connection/header-lines.ts'
import { checkHost } from './http/connection/host.ts'
import { refusalOf } from './http/connection/refusal.ts'
import { sendError } from './http/render-errors.ts'
import { anonymousPermissions } from './identify/caller.ts'
import type { Identify } from './identify/identify.ts'

type Ports = { readonly identify: Identify; readonly limiter: LimiterClient | undefined; readonly domain: string }

/**
 * What every request passes before its body is read: who sent it → the gate → may it come in. A refusal comes after the
 * gate, so that whoever tries keys, paths or malformed requests is limited like everybody else.
 */
export const admit = (app: FastifyInstance, { identify, limiter, domain }: Ports) => {
  app.decorateRequest('identity')
  app.decorateRequest('caller')
  app.addHook('onRequest', (request, _reply, done) => {
    checkHost(request.raw)
    request.identity = identify({
      peer: request.raw.socket.remoteAddress,
      forwardedFor: forwardedFor(request),
      authorizationLines: headerLines(request.raw, 'authorization'),
    })
    request.caller = request.identity.caller
    done()
  })
  if (limiter !== undefined) limit(app, limiter, domain)
  app.addHook('onRequest', (request, _reply, done) => {
    done(
      refusalOf(request.raw) ?? credentialRefusal(request) ?? pathRefusal(app, request) ?? permissionRefusal(request),
    )
  })
  app.addHook('onRoute', ({ method, url, config }) => {
    const methods = [method].flat()
    if (config?.permission === undefined && methods.some((each) => each !== 'GET' && each !== 'HEAD'))
      throw new Error(`${methods.join()} ${url} states no permission`)
  })
}

const limit = (app: FastifyInstance, limiter: LimiterClient, domain: string) => {
  app.register(rateLimit, {
    limiter,
    domain,
    attributes,
    sendUnavailable: (_request, reply) =>
      sendError(reply, apiError(503, 'rate_limit_unavailable', 'The request could not be counted. Try again later.')),
    sendNeverSatisfiable: (_request, reply) =>
      sendError(
        reply,
        apiError(403, 'rate_limit_never_satisfiable', 'The request costs more than its rate limit permits.'),
      ),
  })
}

const forwardedFor = ({ headers }: FastifyRequest) => {
  const lines = headers['x-forwarded-for']
  return Array.isArray(lines) ? lines.join() : lines
}

/** What the limiter is told of a request. */
const attributes = (request: FastifyRequest) => ({
  client: request.identity.client,
  plan: request.caller.kind === 'key' ? request.caller.plan : 'anonymous',
  route: routeName(request),
  method: chargedMethod(request),
})

/** HEAD does the work of GET, so it is counted as one: else it would be a second allowance. */
const chargedMethod = ({ method }: FastifyRequest) => (method === 'HEAD' ? 'GET' : method)

/** `GET /v1/orders/{id}`. Whatever no route answers has one name, so that making up paths makes no new buckets. */
export const routeName = (request: FastifyRequest): string => {
  const { url } = request.routeOptions
  if (url === undefined || request.is404 || refusalOf(request.raw) !== undefined) return 'unmatched'
  return `${chargedMethod(request)} ${url.replace(/:(\w+)/g, '{$1}')}`
}

const credentialRefusal = ({ identity }: FastifyRequest) =>
  identity.credentialProblem === undefined
    ? undefined
    : unauthenticated(apiError(401, 'credential_invalid', identity.credentialProblem))

const pathRefusal = (app: FastifyInstance, request: FastifyRequest) => {
  if (!request.is404) return undefined
  const methods = allowedMethods(app, request.url)
  if (methods.length === 0) return apiError(404, 'path_not_found', 'The API has no such path.')
  const allow = methods.join(', ')
  return withHeaders(apiError(405, 'method_not_allowed', `This path answers ${allow}.`), { allow })
}

const permissionRefusal = ({ caller, routeOptions }: FastifyRequest) => {
  const needed = routeOptions.config.permission
  if (needed === undefined) return undefined
  switch (caller.kind) {
    case 'anonymous':
      return anonymousPermissions.has(needed)
        ? undefined
        : unauthenticated(apiError(401, 'credential_required', 'Send an API key as "Authorization: Bearer <key>".'))
    case 'key':
      return caller.permissions.has(needed)
        ? undefined
        : apiError(403, 'permission_denied', `This needs an API key with the permission ${needed}.`)
  }
}

const unauthenticated = (error: ApiError) => withHeaders(error, { 'www-authenticate': 'Bearer' })
