import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Decision } from '../contract/decision.ts'
import { allowed, denied, exchange, nobodyCounted, openApp, reader, stranger, writer } from './app.fixture.ts'
import { breakingChanges } from './compatibility/breaking-changes.ts'
import type { JsonObject } from './compatibility/json.ts'
import { openOrThrow } from './database/databases.fixture.ts'
import { httpLimits } from './http/connection/limits.ts'
import { createCursorSigner } from './http/cursor.ts'
import { errorCodes } from './http/error-codes.ts'
import { describedBy } from './openapi.fixture.ts'
import { createOrderRepository } from './orders/repository.ts'
import { ordersRoutes } from './orders/routes.ts'

const committed: JsonObject = JSON.parse(await readFile(new URL('openapi.v1.json', import.meta.url), 'utf8'))

let decision: Decision = allowed
const opened = new AsyncDisposableStack()
let api: Awaited<ReturnType<typeof openApp>>
let served: JsonObject

beforeAll(async () => {
  const database = opened.use(await openOrThrow('pglite:memory'))
  const orders = createOrderRepository(database)
  const cursors = createCursorSigner(() => ['the secret of the tests'])
  api = opened.use(await openApp({ decide: () => decision, resources: [ordersRoutes({ orders, cursors })] }))
  served = (await (await fetch(`${api.url}/v1/openapi.json`)).json()) as JsonObject
})
afterAll(() => opened.disposeAsync())

type Sent = {
  /** One that is undefined is not sent. */
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly body?: unknown
  readonly text?: string
  readonly decided?: Decision
}

/** With a key that may do everything, unless another one or none is given. */
const send = async (method: string, path: string, { headers, body, text, decided = allowed }: Sent = {}) => {
  const content = text ?? (body === undefined ? '' : JSON.stringify(body))
  const described = { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(content)}` }
  const fields = { host: 'test', ...writer.header, ...(content !== '' && described), ...headers }
  const lines = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : `${name}: ${value}\r\n`))
  decision = decided
  const bytes = Buffer.from(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n${content}`).toString('latin1')
  const { responses } = await exchange(api.url, [bytes], { answers: 1 })
  decision = allowed
  return responses[0] ?? expect.fail(`${method} ${path} was not answered`)
}

const anonymous = { authorization: undefined }
const newOrder = { currency: 'EUR', items: [{ sku: 'A', quantity: 2, unit_price: 150 }] }

const createOrder = async (change: object = {}) => {
  const { status, body } = await send('POST', '/v1/orders', { body: { ...newOrder, ...change } })
  expect(status).toBe(201)
  const order: { readonly id: string } = JSON.parse(body)
  return order
}

describe('the document', () => {
  test('is the committed one, and takes nothing away from its clients (`npm run openapi` writes it anew)', () => {
    expect(breakingChanges(committed, served)).toEqual([])
    expect(served).toEqual(committed)
  })

  test('is valid OpenAPI 3.1', async () => {
    const validator = new Validator()
    expect(await validator.validate(structuredClone(served))).toEqual({ valid: true })
    expect(validator.version).toBe('3.1')
  })

  test('has every error code with its status and meaning', () => {
    expect(served['x-error-codes']).toEqual(errorCodes)
    const { description } = served['info'] as { readonly description: string }
    for (const [code, { status, description: meaning }] of Object.entries(errorCodes))
      expect(description).toContain(`| ${status} | \`${code}\` | ${meaning} |`)
    const used = new Set(JSON.stringify(served['paths']).match(/"[a-z_]+"/g))
    for (const code of Object.keys(errorCodes)) {
      const isInComponents = JSON.stringify(served['components']).includes(`"${code}"`)
      expect(isInComponents || used.has(`"${code}"`), code).toBe(true)
    }
  })

  test('is served without a key and under one name to the limiter, and is kept by who has it', async () => {
    api.checks.length = 0
    const answer = await send('GET', '/v1/openapi.json', { headers: anonymous })
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(api.checks.map(({ route }) => route)).toEqual(['GET /v1/openapi.json'])
    const tag = answer.headers.get('etag')
    const again = await send('GET', '/v1/openapi.json', { headers: { 'if-none-match': tag } })
    expect([again.status, again.body, again.headers.get('etag')]).toEqual([304, '', tag])
    expect((await send('GET', '/v1/openapi.json', { headers: { 'if-none-match': '"other"' } })).status).toBe(200)
  })

  test.each(['/v1/openapi.json', '/v1/docs'])('%s keeps the rules of every path', async (path) => {
    const codeOf = (body: string) => JSON.parse(body).error.code
    const head = await fetch(`${api.url}${path}`, { method: 'HEAD' })
    expect([head.status, Number(head.headers.get('content-length')) > 100]).toEqual([200, true])
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
      const answer = await send(method, path, { headers: anonymous })
      expect([answer.status, codeOf(answer.body)]).toEqual([405, 'method_not_allowed'])
      expect(answer.headers.get('allow')).toBe('GET, HEAD')
    }
    expect(codeOf((await send('GET', `${path}/`)).body)).toBe('path_not_found')
    expect(codeOf((await send('GET', `${path}/x`)).body)).toBe('path_not_found')
    expect(codeOf((await send('GET', `${path}?x=1`)).body)).toBe('unknown_field')
    expect((await send('GET', path, { headers: { authorization: `Bearer ${stranger}` } })).status).toBe(401)
    expect((await send('GET', path, { decided: denied })).status).toBe(429)
  })
})

describe('what the document says is so:', () => {
  test('each operation needs a key, or none, or a permission', async () => {
    const { operations, isPublic } = describedBy(served)
    expect(operations.length).toBeGreaterThanOrEqual(8)
    for (const { path, method, operation } of operations) {
      const url = path.replace('{id}', 'x')
      const withNone = await send(method, url, { headers: anonymous })
      const withReader = await send(method, url, { headers: reader.header })
      expect([withNone.status === 401, withReader.status === 403], `${method} ${path}`).toEqual(
        isPublic(operation) ? [false, false] : [true, true],
      )
      const roles = JSON.stringify(operation['security'])
      expect(roles.includes('orders:write'), `${method} ${path}`).toBe(!isPublic(operation))
    }
  })

  test('each body has an example, which works as it stands and any number of times', async () => {
    const { bodies, examples } = describedBy(served)
    expect(bodies).toHaveLength(4)
    expect(examples.map(({ path, method, type }) => ({ path, method, type }))).toEqual(bodies)
    for (const { path, method, type, example } of [...examples, ...examples]) {
      const { id } = await createOrder()
      const answer = await send(method, path.replace('{id}', id), { body: example, headers: { 'content-type': type } })
      expect([answer.status, answer.body]).toEqual([method === 'POST' ? 201 : 200, expect.any(String)])
    }
  })

  const order = (id: string) => `/v1/orders/${id}`
  const none = '/v1/orders/none'
  const stale = { 'if-match': '"0"' }
  const tooLarge = JSON.stringify('x'.repeat(httpLimits.bodyBytes))

  test.each<[number, string, string, Sent & { readonly url?: (id: string) => string }]>([
    [200, 'GET', '/v1/openapi.json', {}],
    [304, 'GET', '/v1/openapi.json', { headers: { 'if-none-match': '*' } }],
    [400, 'GET', '/v1/openapi.json', { url: () => '/v1/openapi.json?x' }],
    [200, 'GET', '/v1/orders', {}],
    [400, 'GET', '/v1/orders', { url: () => '/v1/orders?cursor=x' }],
    [422, 'GET', '/v1/orders', { url: () => '/v1/orders?limit=0' }],
    [201, 'POST', '/v1/orders', { body: newOrder }],
    [400, 'POST', '/v1/orders', { body: {} }],
    [400, 'POST', '/v1/orders', { text: '{' }],
    [400, 'POST', '/v1/orders', { headers: { host: undefined } }],
    [401, 'POST', '/v1/orders', { headers: anonymous }],
    [403, 'POST', '/v1/orders', { headers: reader.header }],
    [409, 'POST', '/v1/orders', { body: { ...newOrder, reference: 'taken' } }],
    [413, 'POST', '/v1/orders', { text: tooLarge }],
    [415, 'POST', '/v1/orders', { text: 'x', headers: { 'content-type': 'text/plain' } }],
    [422, 'POST', '/v1/orders', { body: { ...newOrder, items: [] } }],
    [200, 'GET', '/v1/orders/{id}', { url: order }],
    [304, 'GET', '/v1/orders/{id}', { url: order, headers: { 'if-none-match': '*' } }],
    [404, 'GET', '/v1/orders/{id}', { url: () => none }],
    [200, 'PUT', '/v1/orders/{id}', { url: order, body: newOrder }],
    [409, 'PUT', '/v1/orders/{id}', { url: order, body: newOrder, headers: stale }],
    [413, 'PUT', '/v1/orders/{id}', { url: order, text: tooLarge }],
    [415, 'PUT', '/v1/orders/{id}', { url: order, text: 'x', headers: { 'content-type': 'text/plain' } }],
    [422, 'PUT', '/v1/orders/{id}', { url: order, body: { ...newOrder, state: 'shipped' } }],
    [200, 'PATCH', '/v1/orders/{id}', { url: order, body: { note: 'n' } }],
    [400, 'PATCH', '/v1/orders/{id}', { url: order, body: { id: 'x' } }],
    [409, 'PATCH', '/v1/orders/{id}', { url: order, body: {}, headers: stale }],
    [204, 'DELETE', '/v1/orders/{id}', { url: order }],
    [404, 'DELETE', '/v1/orders/{id}', { url: () => none }],
    [409, 'DELETE', '/v1/orders/{id}', { url: order, headers: stale }],
    [413, 'DELETE', '/v1/orders/{id}', { url: order, text: tooLarge }],
    [415, 'DELETE', '/v1/orders/{id}', { url: order, text: 'x', headers: { 'content-type': 'text/plain' } }],
    [200, 'GET', '/v1/orders/{id}/items', { url: (id) => `${order(id)}/items` }],
    [400, 'GET', '/v1/orders/{id}/items', { url: (id) => `${order(id)}/items?cursor=x` }],
    [404, 'GET', '/v1/orders/{id}/items', { url: () => `${none}/items` }],
    [422, 'GET', '/v1/orders/{id}/items', { url: (id) => `${order(id)}/items?sku=` }],
  ])('%i to %s %s', async (status, method, path, { url = () => path, ...sent }) => {
    if (status === 409) await send('POST', '/v1/orders', { body: { ...newOrder, reference: 'taken' } })
    const { id } = await createOrder()
    const answer = await send(method, url(id), sent)
    expect(answer.status, answer.body).toBe(status)
    const { responseOf, expectToFit } = describedBy(served)
    expectToFit(answer, responseOf(path, method, status))
  })

  test.each<[number, Sent & { readonly query?: string }]>([
    [401, { headers: { authorization: `Bearer ${stranger}` } }],
    [414, { query: `?${'x'.repeat(httpLimits.urlLength)}` }],
    [417, { headers: { expect: 'something' } }],
    [429, { decided: denied }],
    [431, { headers: { 'x-large': 'x'.repeat(httpLimits.headerBytes) } }],
    [503, { decided: nobodyCounted }],
  ])('%i to each operation', async (status, { query = '', ...sent }) => {
    const { operations, responseOf, expectToFit } = describedBy(served)
    for (const { path, method } of operations) {
      const answer = await send(method, `${path.replace('{id}', 'x')}${query}`, sent)
      expect(answer.status, `${method} ${path}`).toBe(status)
      expectToFit(answer, responseOf(path, method, status))
    }
  })

  test.each([
    [404, 'PathNotFound', 'GET', '/v1/nowhere'],
    [405, 'MethodNotAllowed', 'TRACE', '/v1/orders'],
  ])('%i to what it does not describe, as %s', async (status, name, method, path) => {
    const answer = await send(method, path)
    expect(answer.status).toBe(status)
    describedBy(served).expectToFit(answer, describedBy(served).component('responses', name))
  })
})

describe('the page', () => {
  test('comes to a browser from here alone, for three requests, of which it keeps the files', async () => {
    api.checks.length = 0
    const page = await send('GET', '/v1/docs', { headers: anonymous })
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const links = [...page.body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, link = '']) => link)
    const files = links.filter((link) => !link.startsWith('data:'))
    expect(files).toEqual([
      expect.stringMatching(/^docs\/swagger-ui-[\d.]+\.css$/),
      expect.stringMatching(/^docs\/swagger-ui-[\d.]+\.js$/),
    ])
    for (const file of files) {
      const answer = await fetch(new URL(file, `${api.url}/v1/docs`))
      expect([answer.status, answer.headers.get('content-type')]).toEqual([
        200,
        file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      ])
      expect(answer.headers.get('cache-control')).toContain('immutable')
      expect((await answer.arrayBuffer()).byteLength).toBeGreaterThan(100_000)
    }
    expect(api.checks).toHaveLength(3)
  })

  test('may run its own two scripts, and may fetch from nowhere else', async () => {
    const { body, headers } = await send('GET', '/v1/docs')
    const policy = headers.get('content-security-policy') ?? ''
    const inline = /<script>(.*?)<\/script>/s.exec(body)?.[1] ?? ''
    expect(inline).toContain("url: 'openapi.json'")
    const digest = createHash('sha256').update(inline).digest('base64')
    expect(policy).toContain(`script-src 'self' 'sha256-${digest}'`)
    expect(policy).toContain("default-src 'none'")
    expect(policy.replaceAll('data:', '')).not.toMatch(/https?:|\*|[\w-]:/)
  })
})
