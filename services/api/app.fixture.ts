import { connect } from 'node:net'
import type { FastifyPluginAsync } from 'fastify'
import { pino } from 'pino'
import type { Check } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import type { LimiterClient } from '../limiter-client/client.ts'
import { buildApp } from './app.ts'
import { type ConnectionBook, createConnectionBook } from './http/connection/connection-book.ts'
import { readStrictly } from './http/strict-input.ts'
import { createApiKey, hashApiKey } from './identify/api-key.ts'
import type { KeyRecord } from './identify/api-keys.ts'
import type { Permission } from './identify/caller.ts'
import { createIdentify } from './identify/identify.ts'
import { parseCidr } from './identify/ip-address.ts'

const quota = { limit: 60, remaining: 59, resetAfterMs: 200, refillTokens: 5, refillPeriodMs: 1000 }
export const allowed: Decision = { verdict: 'allow', basis: 'bucket', policy: policyName('test'), quota }
export const denied: Decision = {
  verdict: 'deny',
  basis: 'bucket',
  policy: policyName('test'),
  quota: { ...quota, remaining: 0, resetAfterMs: 12_000 },
  retryAfterMs: 6_200,
}
export const nobodyCounted: Decision = { verdict: 'deny', basis: 'store_unavailable', policy: policyName('fallback') }

export const makeKey = (owner: string | undefined, ...permissions: readonly Permission[]) => {
  const { keyId, key } = createApiKey()
  const record: KeyRecord = { keyId, hash: hashApiKey(key), owner, plan: 'free', permissions: new Set(permissions) }
  return { key, record, header: { authorization: `Bearer ${key}` } }
}
export const writer = makeKey('acme', 'orders:read', 'orders:write')
export const reader = makeKey('acme', 'orders:read')
export const stranger = createApiKey().key

type Options = {
  readonly decide?: (check: Check) => Decision | Promise<Decision>
  readonly resources?: readonly FastifyPluginAsync[]
  readonly trustedProxies?: readonly string[]
  readonly connections?: ConnectionBook
}

/** Any number of connections. */
const anyNumber = () => createConnectionBook({ perAddress: Number.POSITIVE_INFINITY, addressOf: () => undefined })

/** The app on a free port, with a limiter that notes what it is asked. */
export const openApp = async ({
  decide = () => allowed,
  resources = [notes],
  trustedProxies = [],
  connections = anyNumber(),
}: Options = {}) => {
  const checks: Record<string, string>[] = []
  const logLines: string[] = []
  const limiter: LimiterClient = {
    shouldAllow: async (check) => {
      checks.push(Object.fromEntries(check.attributes))
      return { source: 'limiter', decision: await decide(check) }
    },
    [Symbol.asyncDispose]: async () => {},
  }
  const keys = new Map([writer, reader].map(({ record }) => [record.keyId, record]))
  let draining = false
  const app = buildApp({
    log: pino({ level: 'debug' }, { write: (line) => logLines.push(line) }),
    identify: createIdentify({
      trustedProxies: trustedProxies.flatMap((text) => parseCidr(text) ?? []),
      keys: () => keys,
    }),
    limiter,
    domain: 'api',
    resources,
    isDraining: () => draining,
    connections,
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    url,
    checks,
    logLines,
    beginDraining: () => {
      draining = true
    },
    [Symbol.asyncDispose]: async () => {
      app.server.closeAllConnections()
      await app.close()
    },
  }
}

/** A resource as small as can be, with each method that the API has. */
const notes: FastifyPluginAsync = async (app) => {
  readStrictly(app)
  app.get('/v1/notes', { config: { permission: 'orders:read' } }, async () => [])
  app.post(
    '/v1/notes',
    { config: { permission: 'orders:write' }, schema: { body: { type: ['object', 'string'] } } },
    async (request) => ({ body: request.body }),
  )
  app.get<{ Params: { id: string } }>('/v1/notes/:id', { config: { permission: 'orders:read' } }, async (request) => ({
    length: request.params.id.length,
  }))
  app.delete('/v1/notes/:id', { config: { permission: 'orders:write' } }, async (_request, reply) => {
    reply.code(204)
  })
  app.get('/v1/broken', async () => {
    throw new Error('the secret inside')
  })
}

export type RawResponse = {
  readonly status: number
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

type Reading = {
  /** Read no further than this many final answers; else until the server closes. */
  readonly answers?: number
  /** Read nothing before everything has been written, as simple clients do. */
  readonly readsLate?: boolean
}

/** Writes parts to a connection, each once the one before has left, and reads what comes back. */
export const exchange = async (
  url: string,
  parts: readonly (string | Promise<unknown>)[],
  { answers = Number.POSITIVE_INFINITY, readsLate = false }: Reading = {},
) => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const received: Buffer[] = []
  const responses = () => parseResponses(Buffer.concat(received).toString('latin1'))
  const done = new Promise<void>((resolve) => {
    socket.once('error', () => resolve())
    socket.once('close', () => resolve())
    socket.on('answer', () => {
      if (responses().filter(({ status }) => status !== 100).length >= answers) resolve()
    })
  })
  const read = () =>
    socket.on('data', (chunk) => {
      received.push(chunk)
      socket.emit('answer')
    })
  if (!readsLate) read()
  for (const part of parts) {
    if (typeof part !== 'string') await part
    else await new Promise((resolve) => socket.write(Buffer.from(part, 'latin1'), resolve))
  }
  if (readsLate) read()
  await done
  const isClosed = socket.readableEnded || socket.destroyed
  socket.destroy()
  return { responses: responses(), isClosed }
}

const parseResponses = (text: string): readonly RawResponse[] => {
  const responses: RawResponse[] = []
  let rest = text
  while (rest !== '') {
    const end = rest.indexOf('\r\n\r\n')
    if (end === -1) break
    const [statusLine = '', ...lines] = rest.slice(0, end).split('\r\n')
    const headers = new Map(
      lines.map((line): [string, string] => [
        line.slice(0, line.indexOf(':')).toLowerCase(),
        line.slice(line.indexOf(':') + 1).trim(),
      ]),
    )
    const length = Number(headers.get('content-length') ?? 0)
    const body = rest.slice(end + 4, end + 4 + length)
    if (body.length < length) break
    responses.push({ status: Number(statusLine.split(' ')[1]), headers, body })
    rest = rest.slice(end + 4 + length)
  }
  return responses
}
