import { connect } from 'node:net'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyServerOptions } from 'fastify'
import { describe, expect, test } from 'vitest'
import { type Decision, policyName } from '../../contract/decision.ts'
import type { LimiterClient } from '../client.ts'
import { type RateLimitOptions, rateLimit } from './fastify-plugin.ts'

const policy = policyName('per-client')
const quota = { limit: 60, remaining: 12, resetAfterMs: 9_600, refillTokens: 5, refillPeriodMs: 1_000 }
const passed: Decision = { verdict: 'allow', basis: 'bucket', policy, quota }
const refused: Decision = { verdict: 'deny', basis: 'bucket', policy, quota, retryAfterMs: 1_200 }
const uncounted: Decision = { verdict: 'deny', basis: 'store_unavailable', policy }
const impossible: Decision = { verdict: 'deny', basis: 'never_satisfiable', policy }

type Setup = {
  readonly options?: Partial<RateLimitOptions>
  readonly server?: FastifyServerOptions
  /** Everything that comes after the gate. */
  readonly build?: (app: FastifyInstance) => void
}

/** A listening application behind a limiter that always says the same. */
const openApp = async (decision: Decision, { options, server, build }: Setup = {}) => {
  const asked: string[] = []
  const limiter: LimiterClient = {
    shouldAllow: async ({ domain, attributes, cost }) => {
      asked.push(`${domain} ${[...attributes].flat().join('=')} costs ${cost}`)
      return { source: 'limiter', decision }
    },
    [Symbol.asyncDispose]: async () => {},
  }
  // An upload that is still running must not hold up the end of a test.
  const app = Fastify({ forceCloseConnections: true, ...server })
  await app.register(rateLimit, {
    limiter,
    domain: 'api',
    attributes: (request) => ({ client: `ip:${request.ip}` }),
    ...options,
  })
  app.get('/orders', async () => ({ data: [] }))
  app.post('/orders', async (_request, reply) => reply.code(201).send({}))
  build?.(app)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    app,
    asked,
    url,
    port: Number(new URL(url).port),
    [Symbol.asyncDispose]: () => app.close(),
  }
}

/** Sends the bytes as they are and gives what comes back, until the server is done or `enough` has come. */
const exchange = (port: number, bytes: string, enough = /\r\n\r\n[\s\S]*\}$/) =>
  new Promise<string>((resolve, reject) => {
    let received = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(bytes))
    socket.setTimeout(5_000, () => socket.destroy(new Error(`nothing more after ${JSON.stringify(received)}`)))
    socket.on('data', (chunk) => {
      received += chunk.toString()
      if (enough.test(received)) socket.end()
    })
    socket.once('error', reject)
    socket.once('close', () => resolve(received))
  })

describe('a pass', () => {
  test('goes on, and tells the quota', async () => {
    await using opened = await openApp(passed)
    const response = await fetch(`${opened.url}/orders`)
    expect(response.status).toBe(200)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'ratelimit-limit': '60',
      'ratelimit-remaining': '12',
      'ratelimit-reset': '10',
      ratelimit: '"per-client";r=12;t=1',
      'ratelimit-policy': '"per-client";q=60;w=12;refill=5;period=1',
    })
    expect(response.headers.has('retry-after')).toBe(false)
    expect(opened.asked).toEqual(['api client=ip:127.0.0.1 costs 1'])
  })

  test.each([
    ['no such path', 404, '/nothing', { method: 'GET' }],
    ['no such method there', 404, '/orders', { method: 'DELETE' }],
    [
      'a body that is no JSON',
      400,
      '/orders',
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
    ],
    ['a type that nobody parses', 415, '/orders', { method: 'POST', body: 'x', headers: { 'content-type': 'a/b' } }],
    ['a fault of the handler', 500, '/fault', { method: 'GET' }],
  ] as const)('is asked about once, and told, also for %s', async (_, status, path, init) => {
    await using opened = await openApp(passed, {
      build: (app) =>
        app.get('/fault', () => {
          throw new Error('planted')
        }),
    })
    const response = await fetch(`${opened.url}${path}`, init)
    expect(response.status).toBe(status)
    expect(response.headers.get('ratelimit-limit')).toBe('60')
    expect(opened.asked).toHaveLength(1)
  })

  test('that nobody counted claims no quota', async () => {
    await using opened = await openApp({ verdict: 'allow', basis: 'store_unavailable', policy })
    const response = await fetch(`${opened.url}/orders`)
    expect(response.status).toBe(200)
    expect([...response.headers.keys()].filter((name) => /ratelimit|retry/.test(name))).toEqual([])
  })

  test('costs what the application says, and is observed', async () => {
    const observed: string[] = []
    await using opened = await openApp(passed, {
      options: {
        cost: ({ url }) => url.length,
        observe: ({ source, decision }, { url }) => observed.push(`${source} ${decision.verdict} ${url}`),
      },
    })
    await fetch(`${opened.url}/orders`)
    expect(opened.asked).toEqual(['api client=ip:127.0.0.1 costs 7'])
    expect(observed).toEqual(['limiter allow /orders'])
  })
})

describe('a refusal', () => {
  test('is a 429 that says when to come back, in these bytes', async () => {
    await using opened = await openApp(refused)
    const response = await exchange(opened.port, 'GET /orders HTTP/1.1\r\nHost: x\r\n\r\n')
    const [head = '', body] = response.split('\r\n\r\n')
    const [statusLine, ...headers] = head.split('\r\n')
    expect(statusLine).toBe('HTTP/1.1 429 Too Many Requests')
    expect(headers).toEqual(
      expect.arrayContaining([
        'content-type: application/json',
        'retry-after: 2',
        'ratelimit-limit: 60',
        'ratelimit-remaining: 0',
        'ratelimit-reset: 10',
        'ratelimit: "per-client";r=0;t=2',
        'ratelimit-policy: "per-client";q=60;w=12;refill=5;period=1',
      ]),
    )
    expect(body).toBe('{"error":"Rate limit exceeded: retry after 2 seconds."}')
  })

  test.each(['GET /nothing', 'DELETE /orders', 'OPTIONS *', 'PROPFIND /orders', 'HEAD /orders'])(
    'comes before anything else that would be said of %s',
    async (requestLine) => {
      await using opened = await openApp(refused)
      const response = await exchange(opened.port, `${requestLine} HTTP/1.1\r\nHost: x\r\n\r\n`, /\r\n\r\n/)
      expect(response).toMatch(/^HTTP\/1\.1 429 /)
      expect(opened.asked).toHaveLength(1)
    },
  )

  test('does not wait for the body, however large it is said to be', async () => {
    await using opened = await openApp(refused)
    const head =
      'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10000000000\r\n\r\n{'
    expect(await exchange(opened.port, head)).toMatch(/^HTTP\/1\.1 429 /)
  })

  test('does not look at the body: what is wrong with it is never found', async () => {
    let parsed = 0
    await using opened = await openApp(refused, {
      build: (app) =>
        app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, _body, done) => {
          parsed += 1
          done(null)
        }),
    })
    for (const body of ['{', 'x'.repeat(2_000_000)]) {
      const response = await fetch(`${opened.url}/orders`, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json' },
      })
      expect(response.status).toBe(429)
      await response.bytes()
    }
    expect(parsed).toBe(0)
  })

  test('lets no later hook and no handler run, also when its reply takes a while', async () => {
    const ran: string[] = []
    await using opened = await openApp(refused, {
      build: (app) => {
        app.addHook('onRequest', async () => void ran.push('onRequest'))
        app.addHook('preHandler', async () => void ran.push('preHandler'))
        app.addHook('onSend', async (_request, _reply, payload) => {
          await new Promise((resolve) => setTimeout(resolve, 50))
          return payload
        })
        app.get('/more', async () => {
          ran.push('handler')
          return {}
        })
      },
    })
    const response = await fetch(`${opened.url}/more`)
    expect(response.status).toBe(429)
    expect(await response.json()).toEqual({ error: 'Rate limit exceeded: retry after 2 seconds.' })
    expect(ran).toEqual([])
  })

  test('leaves the connection usable', async () => {
    await using opened = await openApp(refused)
    const twice =
      'POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabcGET /orders HTTP/1.1\r\nHost: x\r\n\r\n'
    const response = await exchange(opened.port, twice, /\}[\s\S]*HTTP[\s\S]*\}$/)
    expect(response.match(/HTTP\/1\.1 429 /g)).toHaveLength(2)
  })
})

describe('a refusal because nothing could count', () => {
  test('is a 503 that claims no quota', async () => {
    await using opened = await openApp(uncounted)
    const response = await fetch(`${opened.url}/orders`)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect([...response.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([])
    expect(await response.json()).toMatchObject({ error: { code: 'rate_limit_unavailable' } })
  })

  test('has the form of the application', async () => {
    await using opened = await openApp(uncounted, {
      options: { sendUnavailable: (_request, reply, retryAfterS) => reply.send({ mine: retryAfterS }) },
    })
    const response = await fetch(`${opened.url}/orders`)
    expect(response.status).toBe(503)
    expect(response.headers.get('retry-after')).toBe('5')
    expect(await response.json()).toEqual({ mine: 5 })
  })
})

test('a request that can never be satisfied is a 403 that promises nothing', async () => {
  await using opened = await openApp(impossible)
  const response = await fetch(`${opened.url}/orders`)
  expect(response.status).toBe(403)
  expect([...response.headers.keys()].filter((name) => /ratelimit|retry/.test(name))).toEqual([])
  expect(await response.json()).toMatchObject({ error: { code: 'rate_limit_never_satisfiable' } })

  await using own = await openApp(impossible, {
    options: { sendNeverSatisfiable: (_request, reply) => reply.code(422).send({ mine: true }) },
  })
  expect((await fetch(`${own.url}/orders`)).status).toBe(422)
})

describe('requests that Fastify answers without hooks', () => {
  const withGate = (): FastifyServerOptions => ({
    routerOptions: { maxParamLength: 10 },
    frameworkErrors: (error, request, reply) => {
      void request.server.gate(request, reply).then((sent) => {
        if (!sent) void (reply as FastifyReply).code(error.statusCode ?? 400).send({ error: { code: error.code } })
      })
    },
  })
  const build = (app: FastifyInstance) => app.get('/orders/:id', async () => ({}))

  test.each([
    ['/orders/%zz', 400],
    ['/orders/a-parameter-that-is-too-long', 414],
  ])('%s is asked about once, and told', async (path, status) => {
    await using opened = await openApp(passed, { server: withGate(), build })
    const response = await exchange(opened.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(response).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
    expect(response).toContain('ratelimit-limit: 60')
    expect(opened.asked).toHaveLength(1)
  })

  test.each(['/orders/%zz', '/orders/a-parameter-that-is-too-long'])('%s is refused as any other', async (path) => {
    await using opened = await openApp(refused, { server: withGate(), build })
    const response = await exchange(opened.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
    expect(response).toMatch(/^HTTP\/1\.1 429 /)
    expect(response).toContain('\r\ncontent-type: application/json\r\n')
    expect(response).toMatch(/\{"error":"[^"]*2 seconds[^"]*"\}$/)
  })

  test('an exception of the application becomes its error reply, not a hang', async () => {
    await using opened = await openApp(passed, {
      server: withGate(),
      build,
      options: {
        attributes: () => {
          throw new Error('planted')
        },
      },
    })
    for (const path of ['/orders/%zz', '/orders'])
      expect(await exchange(opened.port, `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)).toMatch(/^HTTP\/1\.1 500 /)
  })

  test('the gate never asks twice about one request', async () => {
    await using opened = await openApp(passed, {
      build: (app) =>
        app.get('/again', async (request, reply) => {
          const sent = await Promise.all([app.gate(request, reply), app.gate(request, reply)])
          return { sent }
        }),
    })
    expect(await (await fetch(`${opened.url}/again`)).json()).toEqual({ sent: [false, false] })
    expect(opened.asked).toHaveLength(1)
  })
})

test('an attribute that is no text is a fault of the application, found before anybody is asked', async () => {
  await using opened = await openApp(passed, {
    options: { attributes: () => ({ client: undefined as unknown as string }) },
  })
  const response = await fetch(`${opened.url}/orders`)
  expect(response.status).toBe(500)
  expect(opened.asked).toEqual([])
})
