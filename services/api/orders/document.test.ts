import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { bodyOf, useRoutes } from './routes.fixture.ts'

type Media = { readonly schema: object; readonly example?: object }
type Operation = {
  readonly requestBody?: { readonly content: Readonly<Record<string, Media>> }
  readonly responses: Readonly<
    Record<string, { readonly headers?: object; readonly content?: Readonly<Record<string, Media>> }>
  >
}
type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>

const { app, stranger } = useRoutes()

const operation = (path: string, method: string): Operation => {
  const found = (app().swagger().paths as unknown as Paths)[path]?.[method]
  if (found === undefined) throw new Error(`${method} ${path} is not in the document`)
  return found
}

const expectToConform = (value: unknown, schema: object) => {
  const ajv = new Ajv({ strict: false, formats: { 'date-time': true } })
  ajv.addSchema(app().swagger(), 'document')
  const validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"document#/components')))
  expect(validate(value), JSON.stringify(validate.errors)).toBe(true)
}

test('the document has an example for every body, which works as it stands and any number of times', async () => {
  const call = stranger()
  for (let time = 0; time < 2; time++) {
    let path = '/v1/orders'
    for (const [template, method, type] of [
      ['/v1/orders', 'POST', 'application/json'],
      ['/v1/orders/{id}', 'PUT', 'application/json'],
      ['/v1/orders/{id}', 'PATCH', 'application/json'],
      ['/v1/orders/{id}', 'PATCH', 'application/merge-patch+json'],
    ] as const) {
      const body = operation(template, method.toLowerCase()).requestBody?.content[type]?.example
      expect(body).toEqual(expect.any(Object))
      const answer = await call(method, path, { body, headers: { 'content-type': type } })
      expect(answer.status).toBe(method === 'POST' ? 201 : 200)
      path = `/v1/orders/${answer.body.id}`
    }
  }
})

test('the document describes what is answered: every status, its headers and its body', async () => {
  const call = stranger()
  const { body: order } = await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })
  const path = `/v1/orders/${order.id}`
  const answers = [
    ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf() })],
    ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: {} })],
    ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })],
    ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf({ items: [] }) })],
    ['/v1/orders', 'post', await call('POST', '/v1/orders', { text: 'x', headers: { 'content-type': 'text/plain' } })],
    ['/v1/orders', 'get', await call('GET', '/v1/orders?limit=1')],
    ['/v1/orders', 'get', await call('GET', '/v1/orders?cursor=x')],
    ['/v1/orders/{id}', 'get', await call('GET', path)],
    ['/v1/orders/{id}', 'get', await call('GET', '/v1/orders/x')],
    ['/v1/orders/{id}', 'patch', await call('PATCH', path, { body: { note: 'n' } })],
    ['/v1/orders/{id}', 'patch', await call('PATCH', path, { body: {}, headers: { 'if-match': '"0"' } })],
    ['/v1/orders/{id}', 'put', await call('PUT', path, { body: bodyOf() })],
    ['/v1/orders/{id}', 'put', await call('PUT', path, { body: bodyOf({ state: 'paid' }) })],
    ['/v1/orders/{id}/items', 'get', await call('GET', `${path}/items`)],
    ['/v1/orders/{id}', 'delete', await call('DELETE', path)],
  ] as const
  for (const [template, method, { status, headers, body }] of answers) {
    const described = operation(template, method).responses[status]
    expect(described, `${method} ${template} ${status}`).toBeDefined()
    if (body !== undefined) expectToConform(body, described?.content?.['application/json']?.schema ?? {})
    for (const name of Object.keys(described?.headers ?? {})) expect(headers).toHaveProperty(name.toLowerCase())
  }
})
