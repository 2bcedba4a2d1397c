import fc from 'fast-check'
import { fastify } from 'fastify'
import { Type } from 'typebox'
import { describe, expect, test } from 'vitest'
import { httpLimits } from './connection/limits.ts'
import { renderErrors } from './render-errors.ts'
import { readBodiesOf, readStrictly } from './strict-input.ts'

const closed = { additionalProperties: false }
const body = Type.Object(
  {
    name: Type.String({ minLength: 2, maxLength: 5 }),
    count: Type.Integer({ minimum: 0, maximum: 9 }),
    flag: Type.Optional(Type.Boolean()),
    note: Type.Optional(Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 3 })),
    weight: Type.Optional(Type.Unsafe<number | null>({ type: ['integer', 'null'], maximum: 9 })),
    kind: Type.Optional(Type.String({ enum: ['a', 'b'] })),
    code: Type.Optional(Type.String({ pattern: '^[a-z]+$', description: 'Small letters.' })),
    parts: Type.Optional(Type.Array(Type.Object({ size: Type.Integer({ minimum: 1 }) }, closed), { maxItems: 2 })),
  },
  closed,
)
const querystring = Type.Object(
  {
    limit: Type.Optional(Type.Integer({ minimum: 1 })),
    text: Type.Optional(Type.String({ maxLength: 3 })),
    since: Type.Optional(Type.String({ format: 'date-time' })),
  },
  closed,
)
const headers = Type.Object({ 'x-mark': Type.Optional(Type.String({ pattern: '^[a-z]+$' })) })

const app = fastify()
renderErrors(app)
readStrictly(app)
app.post('/', { schema: { body, querystring } }, async (request) => request.body)
app.delete('/', async () => 'gone')
app.get('/', { schema: { querystring, headers } }, async (request) => request.query)
app.register(async (scope) => {
  readBodiesOf(scope, ['application/merge-patch+json'])
  scope.patch('/', { schema: { body } }, async (request) => request.body)
})

const post = async (payload: string | Buffer, type = 'application/json') => {
  const response = await app.inject({ method: 'POST', url: '/', payload, headers: { 'content-type': type } })
  return { status: response.statusCode, body: response.json() }
}
const get = async (query: string) => {
  const response = await app.inject({ url: `/${query}` })
  return { status: response.statusCode, body: response.json() }
}
const fault = (status: number, code: string, field?: string) => ({
  status,
  body: { error: { code, message: expect.any(String), ...(field !== undefined && { field }) } },
})

describe('a body', () => {
  test('that fits arrives as it was sent', async () => {
    const value = { count: 1, name: 'ab', note: null, parts: [{ size: 1 }] }
    expect(await post(JSON.stringify(value))).toEqual({ status: 200, body: value })
  })

  test.each([
    ['{"name":"ab","count":1', 400, 'malformed_body'],
    ['', 400, 'malformed_body'],
    ['{"name":"ab","count":1}x', 400, 'malformed_body'],
    ['{"name":"ab","count":01}', 400, 'malformed_body'],
    ['{"name":"ab","count":NaN}', 400, 'malformed_body'],
    ["{'name':'ab'}", 400, 'malformed_body'],
    ['[]', 400, 'wrong_type'],
    ['null', 400, 'wrong_type'],
    ['"text"', 400, 'wrong_type'],
    ['{}', 400, 'missing_field', 'name'],
    ['{"name":"ab"}', 400, 'missing_field', 'count'],
    ['{"name":"ab","count":"1"}', 400, 'wrong_type', 'count'],
    ['{"name":"ab","count":null}', 400, 'wrong_type', 'count'],
    ['{"name":"ab","count":true}', 400, 'wrong_type', 'count'],
    ['{"name":1,"count":1}', 400, 'wrong_type', 'name'],
    ['{"name":"ab","count":1,"flag":"true"}', 400, 'wrong_type', 'flag'],
    ['{"name":"ab","count":1,"parts":{}}', 400, 'wrong_type', 'parts'],
    ['{"name":"ab","count":1,"note":1}', 400, 'wrong_type', 'note'],
    ['{"name":"ab","count":1,"more":1}', 400, 'unknown_field', 'more'],
    ['{"name":"ab","count":1,"__proto__":{}}', 400, 'unknown_field', '__proto__'],
    ['{"name":"ab","count":1,"constructor":{"prototype":{}}}', 400, 'unknown_field', 'constructor'],
    ['{"name":"ab","count":1,"name":"ab"}', 400, 'repeated_field', 'name'],
    ['{"name":"ab","count":1,"parts":[{"size":1},{"size":1,"size":1}]}', 400, 'repeated_field', 'parts.1.size'],
    ['{"name":"ab","count":1,"parts":[{}]}', 400, 'missing_field', 'parts.0.size'],
    ['{"name":"ab","count":1,"parts":[{"size":1,"a/b~c":1}]}', 400, 'unknown_field', 'parts.0.a/b~c'],
    ['{"name":"a","count":1}', 422, 'invalid_value', 'name'],
    ['{"name":"abcdef","count":1}', 422, 'invalid_value', 'name'],
    ['{"name":"ab","count":-1}', 422, 'invalid_value', 'count'],
    ['{"name":"ab","count":10}', 422, 'invalid_value', 'count'],
    ['{"name":"ab","count":1.5}', 422, 'invalid_value', 'count'],
    ['{"name":"ab","count":9007199254740993}', 422, 'invalid_value', 'count'],
    ['{"name":"ab","count":1e400}', 422, 'invalid_value', 'count'],
    ['{"name":"ab","count":1,"weight":1.5}', 422, 'invalid_value', 'weight'],
    ['{"name":"ab","count":1,"kind":"c"}', 422, 'invalid_value', 'kind'],
    ['{"name":"ab","count":1,"code":"A"}', 422, 'invalid_value', 'code'],
    ['{"name":"ab","count":1,"parts":[{"size":0}]}', 422, 'invalid_value', 'parts.0.size'],
    ['{"name":"ab","count":1,"parts":[{"size":1},{"size":1},{"size":1}]}', 422, 'invalid_value', 'parts'],
  ])('%s is %i %s %s', async (text, status, code, field?: string) => {
    expect(await post(text)).toEqual(fault(status, code, field))
  })

  test.each([
    // The same two faults, one before the other.
    ['{"name":"a","count":"1"}', 'name'],
    ['{"count":"1","name":"a"}', 'count'],
    ['{"parts":[{"size":1,"x":1},{"size":0}],"count":"1"}', 'parts.0.x'],
    // What is missing is missing at the end of its object.
    ['{"count":"1"}', 'count'],
    ['{"parts":[{"x":1}],"count":"1"}', 'parts.0.x'],
    ['{"parts":[{}],"count":"1"}', 'parts.0.size'],
    // An array that is too long is at fault where it begins, whatever stands in it.
    ['{"parts":[{},{"x":1},0],"count":"1"}', 'parts'],
    ['{"count":"1","parts":[{},{"x":1},0]}', 'count'],
    [`{"parts":[{}${',{}'.repeat(5_000)}],"count":"1"}`, 'parts'],
    [`{"name":"ab","name":"ab","parts":[0${',0'.repeat(5_000)}]}`, 'name'],
    // An engine puts names that are numbers first.
    ['{"count":"1","7":1}', 'count'],
    ['{"count":1,"name":"ab","count":2,"flag":0}', 'count'],
    ['{"flag":0,"count":1,"name":"ab","count":2}', 'flag'],
  ])('with several faults is told the first in its order: %s', async (text, field) => {
    expect(await post(text)).toMatchObject({ body: { error: { field } } })
  })

  test('in any order of its fields is told the one that comes first', async () => {
    const faults = { name: '"a"', count: '"1"', flag: '1', kind: '"c"', more: '1', 12: '1', parts: '[{"size":0}]' }
    await fc.assert(
      fc.asyncProperty(fc.shuffledSubarray(Object.entries(faults), { minLength: 1 }), async (entries) => {
        const text = `{${entries.map(([name, value]) => `"${name}":${value}`).join()}}`
        const [first] = entries.map(([name]) => (name === 'parts' ? 'parts.0.size' : name))
        expect((await post(text)).body.error.field).toBe(first)
      }),
    )
  })

  test('that is not UTF-8 is malformed', async () => {
    expect(await post(Buffer.from('{"name":"\xff\xff","count":1}', 'latin1'))).toEqual(fault(400, 'malformed_body'))
  })

  test('that is not there is malformed', async () => {
    const response = await app.inject({ method: 'POST', url: '/' })
    expect({ status: response.statusCode, body: response.json() }).toEqual(fault(400, 'malformed_body'))
  })

  test.each(['text/plain', 'application/x-www-form-urlencoded', 'application/merge-patch+json', 'application/jsonp'])(
    'of the type %s is not read',
    async (type) => {
      expect(await post('{"name":"ab","count":1}', type)).toEqual(fault(415, 'media_type_unsupported'))
    },
  )

  test('of a further type is held to the same schema where that is read', async () => {
    const patch = (payload: string) =>
      app.inject({ method: 'PATCH', url: '/', payload, headers: { 'content-type': 'application/merge-patch+json' } })
    expect((await patch('{"name":"ab","count":1}')).statusCode).toBe(200)
    expect((await patch('{"name":"ab","count":10}')).statusCode).toBe(422)
  })

  test('that nobody asked for is ignored', async () => {
    const response = await app.inject({
      method: 'DELETE',
      url: '/',
      payload: '{',
      headers: { 'content-type': 'application/json' },
    })
    expect(response.statusCode).toBe(200)
  })

  test.each([
    ['arrays', '['],
    ['objects', '{"a":'],
  ])('that nests too many %s is malformed, whether they close or not', async (_, opening) => {
    expect(await post(opening.repeat(httpLimits.bodyDepth))).toMatchObject(fault(400, 'malformed_body'))
    const closing = opening === '[' ? ']' : '}'
    const nested = (depth: number) => `${opening.repeat(depth)}1${closing.repeat(depth)}`
    expect(await post(nested(httpLimits.bodyDepth))).not.toMatchObject(fault(400, 'malformed_body'))
    expect(await post(nested(httpLimits.bodyDepth + 1))).toMatchObject(fault(400, 'malformed_body'))
  })

  test('with an endless name is told a short one', async () => {
    const { body } = await post(`{"${'x'.repeat(100_000)}":1}`)
    expect(body.error.field.length).toBeLessThan(100)
  })

  test('full of faults costs no more than its size', async () => {
    const text = `{${Array.from({ length: 25_000 }, (_, index) => `"x${index}":0`).join()}}`
    const before = performance.now()
    expect(await post(text)).toEqual(fault(400, 'unknown_field', 'x0'))
    // Milliseconds, however slow the machine is.
    expect(performance.now() - before).toBeLessThan(10_000)
  })
})

describe('a query string', () => {
  test('that fits has numbers for numbers', async () => {
    expect(await get('?limit=7&text=a%2Bb&since=2026-01-01T00:00:00Z')).toEqual({
      status: 200,
      body: { limit: 7, text: 'a+b', since: '2026-01-01T00:00:00Z' },
    })
    expect(await get('?text=1&&')).toEqual({ status: 200, body: { text: '1' } })
    expect(await get('?text=a+b')).toEqual({ status: 200, body: { text: 'a b' } })
    expect(await get('?text=a=b')).toEqual({ status: 200, body: { text: 'a=b' } })
    expect(await get('?text')).toEqual({ status: 200, body: { text: '' } })
    expect(await get('?limit=99999999999999999999')).toEqual({ status: 200, body: { limit: 1e20 } })
  })

  test.each([
    ['?limit=abc', 400, 'wrong_type', 'limit'],
    ['?limit=', 400, 'wrong_type', 'limit'],
    ['?limit=1e1', 400, 'wrong_type', 'limit'],
    ['?limit=0x10', 400, 'wrong_type', 'limit'],
    ['?limit=%201', 400, 'wrong_type', 'limit'],
    ['?limit=0', 422, 'invalid_value', 'limit'],
    ['?limit=-1', 422, 'invalid_value', 'limit'],
    ['?limit=1.5', 422, 'invalid_value', 'limit'],
    ['?limit=1&limit=1', 400, 'repeated_field', 'limit'],
    ['?limit=1&%6Cimit=1', 400, 'repeated_field', 'limit'],
    ['?more=1', 400, 'unknown_field', 'more'],
    ['?limit[]=1', 400, 'unknown_field', 'limit[]'],
    ['?__proto__=1', 400, 'unknown_field', '__proto__'],
    ['?text=abcd', 422, 'invalid_value', 'text'],
    ['?since=yesterday', 422, 'invalid_value', 'since'],
    ['?text=abcd&limit=x', 422, 'invalid_value', 'text'],
    ['?limit=x&text=abcd', 400, 'wrong_type', 'limit'],
    ['?text=%ff', 400, 'malformed_url'],
    ['?text=%', 400, 'malformed_url'],
  ])('%s is %i %s %s', async (query, status, code, field?: string) => {
    expect(await get(query)).toEqual(fault(status, code, field))
  })
})

test('a schema with an array of any length does not start', async () => {
  for (const options of [{}, { maxItems: 100_000 }]) {
    const open = fastify()
    readStrictly(open)
    open.post('/', { schema: { body: Type.Object({ parts: Type.Array(Type.Integer(), options) }) } }, async () => '')
    await expect(open.ready()).rejects.toThrow('maxItems')
  }
})

test('a header is held to its schema and no other is looked at', async () => {
  const send = async (mark: string) => {
    const response = await app.inject({ url: '/', headers: { 'x-mark': mark, 'x-other': '1' } })
    return { status: response.statusCode, body: response.json() }
  }
  expect(await send('a')).toEqual({ status: 200, body: {} })
  expect(await send('A')).toEqual(fault(422, 'invalid_value', 'x-mark'))
})
