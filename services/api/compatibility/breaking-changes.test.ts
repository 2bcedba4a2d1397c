import { describe, expect, test } from 'vitest'
import { breakingChanges } from './breaking-changes.ts'
import type { Json } from './json.ts'
import { at, committed, type Path, planted } from './planted-change.fixture.ts'

const list: Path = ['paths', '/v1/orders', 'get']
const create: Path = ['paths', '/v1/orders', 'post']
const patch: Path = ['paths', '/v1/orders/{id}', 'patch']
const created: Path = [...create, 'requestBody', 'content', 'application/json', 'schema']
const order: Path = ['components', 'schemas', 'Order']
const item: Path = ['components', 'schemas', 'Item']

const parameterOf = (operation: Path, name: string): Path => {
  const parameters = at(...operation, 'parameters')
  const index = Array.isArray(parameters) ? parameters.findIndex((each) => each.name === name) : -1
  return [...operation, 'parameters', index]
}
const codesOf = (operation: Path, status: number): Path => [
  ...operation,
  'responses',
  status,
  'content',
  'application/json',
  'schema',
  'properties',
  'error',
  'properties',
  'code',
  'enum',
]
const without = (path: Path, value: Json) => [path, [at(...path)].flat().filter((each) => each !== value)] as const
const withAdded = (path: Path, value: Json) => [path, [...[at(...path)].flat(), value]] as const

const BODY = 'POST /v1/orders body application/json'
const LIST = 'GET /v1/orders 200 application/json.data[]'

describe('a planted break is found:', () => {
  test.each<[string, readonly [Path, Json?], string | RegExp]>([
    ['a path is gone', [['paths', '/v1/orders/{id}/items']], '/v1/orders/{id}/items is gone'],
    ['a method is gone', [['paths', '/v1/orders/{id}', 'delete']], 'DELETE /v1/orders/{id} is gone'],
    ['an operation has another id', [[...create, 'operationId'], 'addOrder'], /operationId: createOrder → addOrder/],
    ['a parameter is gone', [parameterOf(list, 'state')], 'GET /v1/orders query state is gone'],
    [
      'a parameter has another type',
      [[...parameterOf(list, 'limit'), 'schema', 'type'], 'string'],
      'GET /v1/orders query limit type: "integer" → "string"',
    ],
    [
      'a parameter that could be absent is required',
      [[...parameterOf(list, 'limit'), 'required'], true],
      'GET /v1/orders query limit is required now',
    ],
    [
      'there is a new parameter, and it is required',
      withAdded([...list, 'parameters'], { in: 'query', name: 'shop', required: true, schema: { type: 'string' } }),
      'GET /v1/orders query shop is required now',
    ],
    [
      "a parameter's minimum is raised",
      [[...parameterOf(list, 'limit'), 'schema', 'minimum'], 10],
      'GET /v1/orders query limit minimum: 1 → 10',
    ],
    [
      'a parameter has a maximum now',
      [[...parameterOf(list, 'limit'), 'schema', 'maximum'], 100],
      'GET /v1/orders query limit maximum: any → 100',
    ],
    [
      'a parameter takes fewer values',
      without([...parameterOf(list, 'state'), 'schema', 'enum'], 'paid'),
      'GET /v1/orders query state "paid" is gone',
    ],
    [
      'a parameter takes only some values now',
      [[...parameterOf(list, 'customer_reference'), 'schema', 'enum'], ['C-1']],
      'GET /v1/orders query customer_reference enum: any → ["C-1"]',
    ],
    [
      'a parameter is written in another way',
      [[...parameterOf(list, 'state'), 'style'], 'spaceDelimited'],
      'GET /v1/orders query state is written in another style',
    ],
    ['a body is gone', [[...create, 'requestBody']], 'POST /v1/orders takes no body now'],
    [
      'a body is required now',
      [['paths', '/v1/orders/{id}', 'delete', 'requestBody'], { required: true, content: {} }],
      'DELETE /v1/orders/{id} needs a body now',
    ],
    [
      'a media type of a body is gone',
      [[...patch, 'requestBody', 'content', 'application/merge-patch+json']],
      'PATCH /v1/orders/{id} body application/merge-patch+json is gone',
    ],
    ['a field of a body is gone', [[...created, 'properties', 'note']], `${BODY}.note is gone`],
    [
      'a field of a body has another type',
      [[...created, 'properties', 'shipping', 'type'], 'string'],
      `${BODY}.shipping type: "integer" → "string"`,
    ],
    [
      'a field of a body takes no null any more',
      [[...created, 'properties', 'reference', 'type'], 'string'],
      `${BODY}.reference type: ["string","null"] → "string"`,
    ],
    [
      'a field of a body that could be absent is required',
      withAdded([...created, 'required'], 'customer_reference'),
      `${BODY} customer_reference is required now`,
    ],
    [
      'a field of a body takes fewer values',
      without([...created, 'properties', 'state', 'enum'], 'placed'),
      `${BODY}.state "placed" is gone`,
    ],
    [
      'a field of a body has another default',
      [[...created, 'properties', 'state', 'default'], 'placed'],
      `${BODY}.state default: "draft" → "placed"`,
    ],
    [
      'a maximum within the items of a body is lowered',
      [[...created, 'properties', 'items', 'items', 'properties', 'quantity', 'maximum'], 100],
      `${BODY}.items[].quantity maximum: 10000 → 100`,
    ],
    [
      'fewer items are taken',
      [[...created, 'properties', 'items', 'maxItems'], 10],
      `${BODY}.items maxItems: 100 → 10`,
    ],
    [
      'shorter texts are taken',
      [[...created, 'properties', 'note', 'maxLength'], 999],
      `${BODY}.note maxLength: 1000 → 999`,
    ],
    [
      'texts of another pattern are taken',
      [[...created, 'properties', 'currency', 'pattern'], '^EUR$'],
      `${BODY}.currency pattern: "^[A-Z]{3}$" → "^EUR$"`,
    ],
    [
      'a field of a body must fit what is not understood here',
      [[...created, 'properties', 'note', 'not'], { const: '' }],
      `${BODY}.note not: any → {"const":""}`,
    ],
    ['a status is gone', [[...create, 'responses', 201]], 'POST /v1/orders 201 is gone'],
    ['an error status is gone', [[...create, 'responses', 409]], 'POST /v1/orders 409 is gone'],
    [
      'an error code of a response is gone',
      without(codesOf(create, 409), 'order_reference_taken'),
      /^POST \/v1\/orders 409 application\/json\.error\.code "order_reference_taken" is gone$/,
    ],
    [
      'an error code is gone from the catalogue',
      [['x-error-codes', 'order_changed']],
      'error code order_changed is gone',
    ],
    [
      'an error code has another status',
      [['x-error-codes', 'order_changed', 'status'], 412],
      'error code order_changed status: 409 → 412',
    ],
    ['a field of an answer is gone', [[...order, 'properties', 'total']], `${LIST}.total is gone`],
    [
      'a field of an answer has another type',
      [[...item, 'properties', 'unit_price', 'type'], 'number'],
      `${LIST}.items[].unit_price type: "integer" → "number"`,
    ],
    [
      'a field of an answer may be null now',
      [
        [...order, 'properties', 'currency', 'type'],
        ['string', 'null'],
      ],
      `${LIST}.currency type: "string" → ["string","null"]`,
    ],
    [
      'a field of an answer may be absent now',
      without([...order, 'required'], 'updated_at'),
      `${LIST} updated_at may be absent now`,
    ],
    [
      'a field of an answer has no format any more',
      [[...order, 'properties', 'created_at', 'format']],
      `${LIST}.created_at format: "date-time" → any`,
    ],
    [
      'a field of an answer has any value now',
      [[...order, 'properties', 'state', 'enum']],
      `${LIST}.state enum: ["draft","placed","paid","shipped","cancelled"] → any`,
    ],
    [
      'a media type of an answer is gone',
      [[...create, 'responses', 201, 'content'], { 'application/hal+json': {} }],
      'POST /v1/orders 201 application/json is gone',
    ],
    [
      'a header of an answer is gone',
      [[...create, 'responses', 201, 'headers', 'Location']],
      'POST /v1/orders 201 Location is gone',
    ],
    [
      'a header of an answer has another type',
      [['components', 'headers', 'Retry-After', 'schema', 'type'], 'string'],
      'GET /v1/orders 429 Retry-After type: "integer" → "string"',
    ],
    [
      'a header of an answer may be absent now',
      [['components', 'headers', 'Retry-After', 'required'], false],
      'GET /v1/orders 503 Retry-After may be absent now',
    ],
    [
      'reading needs a key now',
      [[...list, 'security'], [{ apiKey: ['orders:read'] }]],
      'GET /v1/orders needs more than {} now',
    ],
    [
      'writing needs another permission',
      [[...create, 'security'], [{ apiKey: ['orders:admin'] }]],
      'POST /v1/orders needs more than {"apiKey":["orders:write"]} now',
    ],
    [
      'keys are sent in another way',
      [['components', 'securitySchemes', 'apiKey'], { type: 'apiKey', in: 'header', name: 'X-Api-Key' }],
      'security scheme apiKey is another one or gone',
    ],
  ])('%s', (_claim, [path, value], fault) => {
    const breaks = breakingChanges(committed, planted(path, value))
    expect(breaks).toContainEqual(typeof fault === 'string' ? fault : expect.stringMatching(fault))
  })
})

describe('an addition breaks nobody:', () => {
  test.each<[string, readonly [Path, Json?]]>([
    ['a path', [['paths', '/v1/customers'], at('paths', '/v1/orders')]],
    ['a method', [['paths', '/v1/orders/{id}/items', 'post'], at(...create)]],
    [
      'a parameter that may be absent',
      withAdded([...list, 'parameters'], {
        in: 'query',
        name: 'currency',
        required: false,
        schema: { type: 'string' },
      }),
    ],
    ['a parameter that is not required any more', [[...parameterOf(patch, 'id'), 'required'], false]],
    ['a body that may be absent', [['paths', '/v1/orders/{id}', 'delete', 'requestBody'], { content: {} }]],
    [
      'a media type of a body',
      [
        [...create, 'requestBody', 'content', 'application/cbor'],
        at(...create, 'requestBody', 'content', 'application/json'),
      ],
    ],
    ['a field of a body that may be absent', [[...created, 'properties', 'gift'], { type: 'boolean' }]],
    ['a field of a body that is not required any more', without([...created, 'required'], 'currency')],
    [
      'a type that a field of a body takes',
      [
        [...created, 'properties', 'shipping', 'type'],
        ['integer', 'null'],
      ],
    ],
    ['a wider type that a field of a body takes', [[...created, 'properties', 'shipping', 'type'], 'number']],
    ['a value that a field of a body takes', withAdded([...created, 'properties', 'state', 'enum'], 'paid')],
    ['any value that a field of a body takes', [[...created, 'properties', 'state', 'enum']]],
    ['a larger maximum', [[...created, 'properties', 'items', 'items', 'properties', 'quantity', 'maximum'], 20_000]],
    ['no maximum any more', [[...created, 'properties', 'note', 'maxLength']]],
    ['a smaller minimum', [[...created, 'properties', 'items', 'minItems'], 0]],
    ['a body that is open to other fields', [[...created, 'additionalProperties']]],
    ['no pattern any more', [[...created, 'properties', 'currency', 'pattern']]],
    ['a status', [[...list, 'responses', 206], at(...list, 'responses', 200)]],
    ['an error code of a response', withAdded(codesOf(create, 409), 'order_locked')],
    ['an error code in the catalogue', [['x-error-codes', 'order_locked'], { status: 409 }]],
    ['a field of an answer', [[...order, 'properties', 'weight'], { type: 'integer' }]],
    ['a field that answers always have', withAdded([...item, 'required'], 'weight')],
    ['a value of a field of an answer', withAdded([...order, 'properties', 'state', 'enum'], 'refunded')],
    ['a header of an answer', [[...list, 'responses', 200, 'headers', 'Link'], { schema: { type: 'string' } }]],
    ['another way in', withAdded([...create, 'security'], { oauth: [] })],
    ['a description', [[...created, 'description'], 'Anything else.']],
    ['an example', [[...created, 'examples'], [{}]]],
    ['nothing', [['info', 'version'], '1.0.1']],
  ])('%s', (_claim, [path, value]) => {
    const changed = planted(path, value)
    expect(changed).not.toEqual(committed)
    expect(breakingChanges(committed, changed)).toEqual([])
  })
})

describe('schemas', () => {
  const documentOf = (schema: Json, direction: 'input' | 'output' = 'input') => {
    const content = { 'application/json': { schema } }
    const operation =
      direction === 'input' ? { requestBody: { content }, responses: {} } : { responses: { 200: { content } } }
    return { paths: { '/a': { post: operation } }, components: { schemas: { Node: node } } }
  }
  const node = { type: 'object', properties: { next: { $ref: '#/components/schemas/Node' }, at: { type: 'string' } } }

  test('that contain themselves are compared to their end', () => {
    const before = documentOf({ $ref: '#/components/schemas/Node' })
    expect(breakingChanges(before, structuredClone(before))).toEqual([])
    const properties = { ...node.properties, at: { type: 'null' } }
    const after = { ...before, components: { schemas: { Node: { ...node, properties } } } }
    expect(breakingChanges(before, after)).toEqual(['POST /a body application/json.at type: "string" → "null"'])
  })
  test.each<[string, Json, Json, 'input' | 'output', readonly string[]]>([
    ['an open body that is closed', {}, { additionalProperties: false }, 'input', [' takes no other fields now']],
    ['a closed answer that is opened', { additionalProperties: false }, {}, 'output', []],
    ['an open answer that is closed', {}, { additionalProperties: false }, 'output', []],
    ['another default of an answer', { default: 1 }, { default: 2 }, 'output', []],
    [
      'other fields of another type',
      { additionalProperties: { type: 'string' } },
      { additionalProperties: { type: 'integer' } },
      'input',
      ['.* type: "string" → "integer"'],
    ],
    [
      'items that have a type now',
      { type: 'array' },
      { type: 'array', items: { type: 'string' } },
      'input',
      ['[] type: any → "string"'],
    ],
    [
      'items of an answer that have a type now',
      { type: 'array' },
      { type: 'array', items: { type: 'string' } },
      'output',
      [],
    ],
    ['an enumeration that becomes a constant', { enum: [1, 2] }, { const: 1 }, 'input', [' 2 is gone']],
    ['a type that is stated now', {}, { type: 'string' }, 'input', [' type: any → "string"']],
    ['a type of an answer that is stated now', {}, { type: 'string' }, 'output', []],
    ['an integer that may have a fraction now', { type: 'integer' }, { type: 'number' }, 'input', []],
    ['a limit of an answer that is looser', { maximum: 9 }, { maximum: 10 }, 'output', [' maximum: 9 → 10']],
    ['a limit of an answer that is tighter', { maximum: 9 }, { maximum: 8 }, 'output', []],
    [
      'alternatives that changed',
      { anyOf: [{ type: 'string' }] },
      { anyOf: [{ type: 'integer' }] },
      'output',
      [' anyOf: [{"type":"string"}] → [{"type":"integer"}]'],
    ],
    ['an extension that changed', { 'x-a': 1 }, { 'x-a': 2 }, 'input', []],
  ])('%s', (_claim, before, after, direction, faults) => {
    const place = direction === 'input' ? 'POST /a body application/json' : 'POST /a 200 application/json'
    expect(breakingChanges(documentOf(before, direction), documentOf(after, direction))).toEqual(
      faults.map((fault) => `${place}${fault}`),
    )
  })

  test('a reference that leads nowhere is an error, not silence', () => {
    const document = documentOf({ $ref: '#/components/schemas/Nowhere' })
    expect(() => breakingChanges(document, document)).toThrow('#/components/schemas/Nowhere')
  })
})
