import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { allowed, denied, exchange, makeKey, nobodyCounted, openApp, reader, stranger, writer } from './app.fixture.ts'
import { httpLimits } from './http/connection/limits.ts'
import { errorCodes } from './http/error-codes.ts'

type Init = RequestInit & { readonly headers?: Record<string, string> }

const json = { 'content-type': 'application/json' }
const send = async (url: string, path: string, init: Init = {}) => {
  const response = await fetch(`${url}${path}`, init)
  const text = await response.text()
  return { status: response.status, headers: response.headers, text, code: codeOf(text) }
}
const codeOf = (text: string): unknown => (text.startsWith('{"error":{') ? JSON.parse(text).error.code : undefined)

describe('paths and methods', () => {
  test.each(['/', '/v1', '/v1/', '/notes', '/v2/notes', '/v1/notes/1/2', '/v1/NOTES', '/v1//notes'])(
    '%s is no path of the API: 404',
    async (path) => {
      await using api = await openApp()
      const answer = await send(api.url, path)
      expect([answer.status, answer.code]).toEqual([404, 'path_not_found'])
      expect(api.checks).toEqual([{ client: 'ip:127.0.0.1', plan: 'anonymous', route: 'unmatched', method: 'GET' }])
    },
  )

  test.each(['PUT', 'PATCH', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY'])(
    '%s on a path that does not answer it: 405 with those that it does',
    async (method) => {
      await using api = await openApp()
      const { responses } = await exchange(api.url, [`${method} /v1/notes?x=1 HTTP/1.1\r\nHost: test\r\n\r\n`], {
        answers: 1,
      })
      expect(responses[0]?.status).toBe(405)
      expect(codeOf(responses[0]?.body ?? '')).toBe('method_not_allowed')
      expect(responses[0]?.headers.get('allow')).toBe('GET, HEAD, POST')
      expect(api.checks).toEqual([{ client: 'ip:127.0.0.1', plan: 'anonymous', route: 'unmatched', method }])
    },
  )

  test('a method that does not exist on the path needs no key to be told so', async () => {
    await using api = await openApp()
    const answer = await send(api.url, '/v1/notes/1', { method: 'PUT', body: '{}', headers: json })
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'GET, HEAD, DELETE'])
  })

  test('a body that nobody would read does not change the answer', async () => {
    await using api = await openApp()
    const body = { method: 'POST', body: 'not JSON', headers: { 'content-type': 'nonsense' } }
    expect((await send(api.url, '/v1/nowhere', body)).status).toBe(404)
    expect((await send(api.url, '/v1/notes/1', body)).status).toBe(405)
  })

  test('HEAD answers as GET does, without a body, and is counted as the GET that it is', async () => {
    await using api = await openApp()
    const answer = await send(api.url, '/v1/notes', { method: 'HEAD' })
    expect([answer.status, answer.text, answer.headers.get('content-length')]).toEqual([200, '', '2'])
    expect(api.checks).toEqual([{ client: 'ip:127.0.0.1', plan: 'anonymous', route: 'GET /v1/notes', method: 'GET' }])
  })

  test('a path may be sent as an absolute URL', async () => {
    await using api = await openApp()
    const { responses } = await exchange(api.url, ['GET http://test/v1/notes?a=1 HTTP/1.1\r\nHost: test\r\n\r\n'], {
      answers: 1,
    })
    expect(responses[0]?.status).toBe(200)
    expect(api.checks[0]?.['route']).toBe('GET /v1/notes')
  })

  test('an id of any length and form reaches its resource', async () => {
    await using api = await openApp()
    for (const id of ['a'.repeat(8_000), '%00', '%2F', '..%2f', '%F0%9F%98%80', "'--"]) {
      const answer = await send(api.url, `/v1/notes/${id}`)
      expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { length: decodeURIComponent(id).length }])
    }
    expect(new Set(api.checks.map(({ route }) => route))).toEqual(new Set(['GET /v1/notes/{id}']))
  })
})

describe('identification', () => {
  test('who reads without a key is anonymous; who writes needs one', async () => {
    await using api = await openApp()
    expect((await send(api.url, '/v1/notes')).status).toBe(200)
    for (const [method, path] of [
      ['POST', '/v1/notes'],
      ['DELETE', '/v1/notes/1'],
    ] as const) {
      const answer = await send(api.url, path, { method })
      expect([answer.status, answer.code]).toEqual([401, 'credential_required'])
      expect(answer.headers.get('www-authenticate')).toBe('Bearer')
    }
  })

  test('a key may do what it is permitted, and nothing else', async () => {
    await using api = await openApp()
    expect((await send(api.url, '/v1/notes', { headers: reader.header })).status).toBe(200)
    expect((await send(api.url, '/v1/notes/1', { method: 'DELETE', headers: writer.header })).status).toBe(204)
    const answer = await send(api.url, '/v1/notes/1', { method: 'DELETE', headers: reader.header })
    expect([answer.status, answer.code]).toEqual([403, 'permission_denied'])
    expect(answer.headers.get('www-authenticate')).toBeNull()
  })

  test.each(['/v1/notes', '/v1/broken', '/v1/nowhere', '/', '/v1/notes/1'])(
    'a wrong or malformed credential is 401 on %s, charged to the address',
    async (path) => {
      await using api = await openApp()
      for (const authorization of [`Bearer ${stranger}`, 'Bearer', 'Basic eDp5', `Bearer ${writer.key}x`]) {
        const answer = await send(api.url, path, { headers: { authorization } })
        expect([answer.status, answer.code]).toEqual([401, 'credential_invalid'])
        expect(answer.headers.get('www-authenticate')).toBe('Bearer')
        expect(answer.headers.get('ratelimit-limit')).toBe('60')
      }
      expect(api.checks.map(({ client, plan }) => [client, plan])).toEqual(
        Array.from({ length: 4 }, () => ['ip:127.0.0.1', 'anonymous']),
      )
    },
  )

  test('two Authorization headers are malformed, even if one is right', async () => {
    await using api = await openApp()
    const line = `Authorization: Bearer ${writer.key}\r\n`
    const { responses } = await exchange(api.url, [`GET /v1/notes HTTP/1.1\r\nHost: test\r\n${line}${line}\r\n`], {
      answers: 1,
    })
    expect(responses[0]?.status).toBe(401)
  })

  test('the limiter is told the owner, the plan, the route and the method', async () => {
    await using api = await openApp()
    await send(api.url, '/v1/notes?a=1', { method: 'POST', headers: { ...writer.header, ...json }, body: '{}' })
    await send(api.url, '/v1/notes/7', { headers: reader.header })
    expect(api.checks).toEqual([
      { client: 'user:acme', plan: 'free', route: 'POST /v1/notes', method: 'POST' },
      { client: 'user:acme', plan: 'free', route: 'GET /v1/notes/{id}', method: 'GET' },
    ])
  })

  test('all lines of X-Forwarded-For are read, other such headers are not', async () => {
    await using api = await openApp({ trustedProxies: ['127.0.0.1', '10.0.0.0/8'] })
    const lines = [
      'X-Forwarded-For: 1.1.1.1, 203.0.113.9',
      'x-forwarded-for: 10.0.0.4',
      'Forwarded: for=2.2.2.2',
      'X-Real-IP: 3.3.3.3',
    ]
    await exchange(api.url, [`GET /v1/notes HTTP/1.1\r\nHost: test\r\n${lines.join('\r\n')}\r\n\r\n`], { answers: 1 })
    expect(api.checks[0]?.['client']).toBe('ip:203.0.113.9')
  })

  test('a peer that is no proxy of ours is its own address', async () => {
    await using api = await openApp()
    await send(api.url, '/v1/notes', { headers: { 'x-forwarded-for': '203.0.113.9' } })
    expect(api.checks[0]?.['client']).toBe('ip:127.0.0.1')
  })
})

describe('the gate', () => {
  test('refuses with one key whose text holds the seconds, and whole numbers in the headers', async () => {
    await using api = await openApp({ decide: () => denied })
    const answer = await send(api.url, '/v1/notes')
    expect(answer.status).toBe(429)
    const body = JSON.parse(answer.text)
    expect(Object.keys(body)).toEqual(['error'])
    expect(body.error).toMatch(/\b7 seconds\b/)
    expect(answer.headers.get('content-type')).toBe('application/json')
    for (const [name, value] of [
      ['retry-after', '7'],
      ['ratelimit-limit', '60'],
      ['ratelimit-remaining', '0'],
      ['ratelimit-reset', '12'],
    ] as const)
      expect(answer.headers.get(name)).toBe(value)
  })

  test.each([
    ['a path that there is not', '/v1/nowhere', {}],
    ['a method that there is not', '/v1/notes', { method: 'PUT' }],
    ['a wrong key', '/v1/notes', { headers: { authorization: `Bearer ${stranger}` } }],
    ['a write without a key', '/v1/notes', { method: 'POST' }],
    ['a key without permission', '/v1/notes', { method: 'POST', headers: reader.header }],
    ['a malformed body', '/v1/notes', { method: 'POST', headers: { ...writer.header, ...json }, body: '{' }],
    ['a body of another type', '/v1/notes', { method: 'POST', headers: writer.header, body: 'text' }],
    ['a URL that cannot be decoded', '/v1/notes/%zz', {}],
    ['a failing route', '/v1/broken', {}],
  ])('comes before %s: 429, and charged once', async (_claim, path, init: Init) => {
    await using api = await openApp({ decide: () => denied })
    expect((await send(api.url, path, init)).status).toBe(429)
    expect(api.checks).toHaveLength(1)
  })

  test('comes before the body: a refusal is answered while the body is still on its way', async () => {
    await using api = await openApp({ decide: () => denied })
    const head = `POST /v1/notes HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${writer.key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`
    const { responses } = await exchange(api.url, [head], { answers: 1 })
    expect(responses[0]?.status).toBe(429)
  })

  test('that could not count answers 503 with Retry-After and claims no quota', async () => {
    await using api = await openApp({ decide: () => nobodyCounted })
    const answer = await send(api.url, '/v1/notes')
    expect([answer.status, answer.code]).toEqual([503, 'rate_limit_unavailable'])
    expect(answer.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect([...answer.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([])
  })

  test('says what is left on every other answer', async () => {
    await using api = await openApp()
    const inits: readonly [string, Init, number][] = [
      ['/v1/notes', {}, 200],
      ['/v1/notes/1', { method: 'DELETE', headers: writer.header }, 204],
      ['/v1/nowhere', {}, 404],
      ['/v1/notes', { method: 'PUT' }, 405],
      ['/v1/notes', { method: 'POST' }, 401],
      ['/v1/notes', { method: 'POST', headers: { ...writer.header, ...json }, body: '{' }, 400],
      ['/v1/broken', {}, 500],
    ]
    for (const [path, init, status] of inits) {
      const answer = await send(api.url, path, init)
      expect(answer.status).toBe(status)
      expect(answer.headers.get('ratelimit-remaining')).toBe('59')
    }
  })
})

describe('bodies', () => {
  const post = (url: string, body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = json) =>
    send(url, '/v1/notes', { method: 'POST', headers: { ...writer.header, ...headers }, body })

  test('a malformed body is 400, and its connection stays', async () => {
    await using api = await openApp()
    const answer = await post(api.url, '{"a":')
    expect([answer.status, answer.code]).toEqual([400, 'malformed_body'])
    expect(answer.headers.get('connection')).toBe('keep-alive')
  })

  test.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense', 'application/jsonx'])(
    'a body of type %s: 415',
    async (type) => {
      await using api = await openApp()
      const answer = await post(api.url, '{}', { 'content-type': type })
      expect([answer.status, answer.code]).toEqual([415, 'media_type_unsupported'])
    },
  )

  test('a body that is encoded: 415, which names what is read; one that says that it is not is read', async () => {
    await using api = await openApp()
    const zipped = await post(api.url, new Uint8Array(gzipSync('{}')), { ...json, 'content-encoding': 'gzip' })
    expect([zipped.status, zipped.code]).toEqual([415, 'media_type_unsupported'])
    expect(zipped.headers.get('accept-encoding')).toBe('identity')
    // Whatever the bytes are: nobody else decodes them.
    expect((await post(api.url, '{}', { ...json, 'content-encoding': 'br, gzip' })).status).toBe(415)
    expect((await post(api.url, '{}', { ...json, 'content-encoding': 'Identity' })).status).not.toBe(415)
  })

  test('a body without a type: 415', async () => {
    await using api = await openApp()
    const answer = await post(api.url, Buffer.from('{}'), {})
    expect(answer.status).toBe(415)
  })

  test('a DELETE that names a type and sends no body is served', async () => {
    await using api = await openApp()
    const answer = await send(api.url, '/v1/notes/1', { method: 'DELETE', headers: { ...writer.header, ...json } })
    expect(answer.status).toBe(204)
  })

  test('a body as large as may be is read, one byte more is 413', async () => {
    await using api = await openApp()
    const text = (length: number) => `"${'a'.repeat(length - 2)}"`
    expect((await post(api.url, text(httpLimits.bodyBytes))).status).toBe(200)
    const answer = await post(api.url, text(httpLimits.bodyBytes + 1))
    expect([answer.status, answer.code]).toEqual([413, 'body_too_large'])
  })

  test.each(['Content-Length: 4000000', 'Transfer-Encoding: chunked'])(
    'a client that sends 4 MB at once reads its 413: %s',
    async (line) => {
      await using api = await openApp()
      const head = `POST /v1/notes HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${writer.key}\r\nContent-Type: application/json\r\n${line}\r\n\r\n`
      const body = 'a'.repeat(4_000_000)
      const sent = line.startsWith('T') ? `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n` : body
      const { responses } = await exchange(api.url, [head, sent], { answers: 1, readsLate: true })
      expect(responses[0]?.status).toBe(413)
    },
  )
})

test('a fault of the server tells its client nothing but an id, under which the log has it', async () => {
  await using api = await openApp()
  const answer = await send(api.url, '/v1/broken')
  expect([answer.status, answer.code]).toEqual([500, 'internal_error'])
  expect(answer.text).not.toContain('secret inside')
  const id = /[0-9a-f-]{36}/.exec(answer.text)?.[0]
  const line = api.logLines.map((text) => JSON.parse(text)).find(({ level }) => level === 50)
  expect(line).toMatchObject({ reqId: id, err: { message: 'the secret inside' } })
})

test('while draining, every answer closes its connection', async () => {
  await using api = await openApp()
  api.beginDraining()
  for (const path of ['/v1/notes', '/v1/nowhere'])
    expect((await send(api.url, path)).headers.get('connection')).toBe('close')
})

test('a connection is renewed after a bounded number of requests', async () => {
  await using api = await openApp()
  const request = 'GET /v1/notes HTTP/1.1\r\nHost: test\r\n\r\n'
  const { responses, isClosed } = await exchange(api.url, [request.repeat(httpLimits.requestsPerConnection)])
  expect(responses).toHaveLength(httpLimits.requestsPerConnection)
  expect(responses.at(-1)?.headers.get('connection')).toBe('close')
  expect(isClosed).toBe(true)
})

test('a route that changes something and states no permission does not start', async () => {
  await expect(
    openApp({ resources: [async (app) => void app.post('/v1/open', async () => 'written by anybody')] }),
  ).rejects.toThrow('POST /v1/open states no permission')
})

test('whatever is sent, the answer has a known shape and was charged once', async () => {
  await using api = await openApp()
  const header = fc.constantFrom(
    'Host: test',
    'Expect: 100-continue',
    'Expect: x',
    'Content-Length: 3',
    'Content-Length: 3, 3',
    'Transfer-Encoding: chunked',
    'Connection: upgrade',
    'Upgrade: h2c',
    'Content-Type: application/json',
    `Authorization: Bearer ${writer.key}`,
    'Authorization: x',
    'X-Forwarded-For: ,,[',
    'Accept-Version: 2',
    'X: \x7f',
  )
  const request = fc.record({
    method: fc.constantFrom('GET', 'POST', 'DELETE', 'OPTIONS', 'BREW', 'TRACE'),
    target: fc.oneof(
      fc.constantFrom('/v1/notes', '/v1/notes/1', '*', 'http://a', '//', '/v1/notes?%', '/v1/notes#x'),
      fc.webPath(),
      fc.string({ maxLength: 20 }).map((text) => `/v1/notes/${text}`),
    ),
    headers: fc.array(header, { maxLength: 5 }),
    body: fc.constantFrom('', '{}', 'abc', '3\r\n{} \r\n0\r\n\r\n', '\r\n\r\n'),
  })
  const known = new Map<unknown, number>(Object.entries(errorCodes).map(([code, { status }]) => [code, status]))
  await fc.assert(
    fc.asyncProperty(request, async ({ method, target, headers, body }) => {
      api.checks.length = 0
      const bytes = `${[`${method} ${target} HTTP/1.1`, ...headers, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`
      const { responses } = await exchange(api.url, [bytes, 'end'], { answers: 1 })
      const answer = responses.find(({ status }) => status !== 100) ?? expect.fail('no answer')
      expect(api.checks.length).toBeGreaterThanOrEqual(1)
      expect(answer.headers.get('ratelimit-limit')).toBe('60')
      if (answer.status >= 400 && answer.body !== '') expect(known.get(codeOf(answer.body))).toBe(answer.status)
      else if (answer.status < 400) expect([200, 204]).toContain(answer.status)
      expect(answer.status).not.toBe(500)
    }),
    { numRuns: 1_000, endOnFailure: false },
  )
})

test('a key never reaches the log, wherever it is put', async () => {
  const { key } = makeKey('leak')
  await using api = await openApp({ decide: () => allowed })
  for (const path of [`/v1/notes?key=${key}`, `/v1/notes/${key}`, `/${key}`, '/v1/broken', `/v1/notes/%zz${key}`]) {
    for (const authorization of [`Bearer ${key}`, key, `Basic ${key}`, `Bearer ${writer.key}`]) {
      const headers = {
        authorization,
        cookie: key,
        'x-api-key': key,
        referer: key,
        'user-agent': key,
        'x-forwarded-for': key,
      }
      await send(api.url, path, { headers })
      await send(api.url, path, { method: 'POST', headers: { ...headers, ...json }, body: `{"${key}":"${key}"` })
    }
  }
  await exchange(api.url, [`${key} / HTTP/1.1\r\n\r\n`, `GET ${key} HTTP/1.1\r\n\r\n`])
  await exchange(api.url, [`GET / HTTP/1.1\r\n${key}\r\n\r\n`])
  const log = api.logLines.join('')
  expect(log).toContain('"answered"')
  expect(log).not.toContain(key.slice(-48))
  expect(log).not.toContain(writer.key.slice(-48))
})
