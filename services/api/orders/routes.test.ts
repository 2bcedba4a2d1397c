import { randomUUID } from 'node:crypto'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Database } from '../database/database.ts'
import { openOrThrow } from '../database/databases.fixture.ts'
import { startPostgres } from '../database/postgres.fixture.ts'
import { seedDemoOrders } from './demo-orders.ts'
import { newOrderId } from './identifiers.ts'
import { orderStates } from './order-state.ts'
import { callAs, createRoutesApp } from './routes.fixture.ts'

let database: Database
let app: FastifyInstance
beforeAll(async () => {
  database = await openOrThrow('pglite:memory')
  app = await createRoutesApp(database)
})
afterAll(async () => {
  await app.close()
  await database[Symbol.asyncDispose]()
})

/** Calls of an owner that has no orders yet. */
const stranger = () => callAs(app, randomUUID())
const bodyOf = (change: object = {}) => ({
  currency: 'EUR',
  items: [{ sku: 'A', quantity: 2, unit_price: 150 }],
  ...change,
})
const refusal = (status: number, code: string, field?: string) => ({
  status,
  body: { error: { code, message: expect.any(String), ...(field !== undefined && { field }) } },
})

describe('POST /v1/orders', () => {
  test('creates an order, says where it is, and computes its totals', async () => {
    const call = stranger()
    const body = bodyOf({
      reference: 'R-1',
      customer_reference: 'C-1',
      state: 'placed',
      note: 'a\nb',
      shipping: 490,
      items: [
        { sku: 'A', quantity: 2, unit_price: 150 },
        { sku: 'B', quantity: 3, unit_price: 0 },
      ],
    })
    const created = await call('POST', '/v1/orders', { body })
    expect(created.status).toBe(201)
    expect(created.body).toEqual({
      ...body,
      id: expect.stringMatching(/^ord_[0-9a-f]{32}$/),
      items: [
        { id: expect.stringMatching(/^itm_/), sku: 'A', quantity: 2, unit_price: 150, total: 300 },
        { id: expect.stringMatching(/^itm_/), sku: 'B', quantity: 3, unit_price: 0, total: 0 },
      ],
      subtotal: 300,
      total: 790,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: created.body.created_at,
    })
    expect(created.headers['location']).toBe(`/v1/orders/${created.body.id}`)
    const found = await call('GET', String(created.headers['location']))
    expect(found).toMatchObject({ status: 200, body: created.body })
    expect(found.headers['etag']).toBe(created.headers['etag'])
  })

  test('adds the largest amounts exactly', async () => {
    const items = Array.from({ length: 100 }, () => ({ sku: 'A', quantity: 10_000, unit_price: 1_000_000_000 }))
    const { body } = await stranger()('POST', '/v1/orders', { body: bodyOf({ items, shipping: 1_000_000_000 }) })
    expect(body.total).toBe(1_000_001_000_000_000)
    expect(Number.isSafeInteger(body.total)).toBe(true)
  })

  test.each([
    [{ currency: undefined }, 400, 'missing_field', 'currency'],
    [{ items: undefined }, 400, 'missing_field', 'items'],
    [{ items: [{ sku: 'A', quantity: '2', unit_price: 1 }] }, 400, 'wrong_type', 'items.0.quantity'],
    [{ items: [{ sku: 'A', quantity: 1 }] }, 400, 'missing_field', 'items.0.unit_price'],
    [{ id: 'ord_1' }, 400, 'unknown_field', 'id'],
    [{ total: 1 }, 400, 'unknown_field', 'total'],
    [{ shipping: null }, 400, 'wrong_type', 'shipping'],
    [{ items: null }, 400, 'wrong_type', 'items'],
    [{ items: [] }, 422, 'invalid_value', 'items'],
    [{ items: [{ sku: 'A', quantity: 0, unit_price: 1 }] }, 422, 'invalid_value', 'items.0.quantity'],
    [{ items: [{ sku: '', quantity: 1, unit_price: 1 }] }, 422, 'invalid_value', 'items.0.sku'],
    [{ items: [{ sku: 'A', quantity: 1, unit_price: 1e9 + 1 }] }, 422, 'invalid_value', 'items.0.unit_price'],
    [{ items: Array(101).fill({ sku: 'A', quantity: 1, unit_price: 1 }) }, 422, 'invalid_value', 'items'],
    [{ currency: 'eur' }, 422, 'invalid_value', 'currency'],
    [{ state: 'shipped' }, 422, 'invalid_value', 'state'],
    [{ shipping: -1 }, 422, 'invalid_value', 'shipping'],
    [{ note: 'x'.repeat(1001) }, 422, 'invalid_value', 'note'],
  ])('with %j is %i %s %s', async (change, status, code, field) => {
    expect(await stranger()('POST', '/v1/orders', { body: bodyOf(change) })).toMatchObject(refusal(status, code, field))
  })

  test('reads JSON that calls itself so, and nothing else', async () => {
    const call = stranger()
    const text = JSON.stringify(bodyOf())
    for (const type of ['text/plain', 'application/merge-patch+json', 'application/xml'])
      expect(await call('POST', '/v1/orders', { text, headers: { 'content-type': type } })).toMatchObject(
        refusal(415, 'media_type_unsupported'),
      )
    const withCharset = { 'content-type': 'application/json; charset=utf-8' }
    expect(await call('POST', '/v1/orders', { text, headers: withCharset })).toMatchObject({ status: 201 })
  })

  test('with a reference of another of the owner’s orders is a conflict; another owner’s is no matter', async () => {
    const call = stranger()
    await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })
    const again = await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })
    expect(again).toMatchObject(refusal(409, 'order_reference_taken', 'reference'))
    expect(await stranger()('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })).toMatchObject({ status: 201 })
  })
})

describe('Idempotency-Key', () => {
  const key = () => ({ 'idempotency-key': randomUUID() })

  test('sent again gives the same response and no second order', async () => {
    const call = stranger()
    const headers = key()
    const first = await call('POST', '/v1/orders', { body: bodyOf(), headers })
    const path = String(first.headers['location'])
    await call('PATCH', path, { body: { note: 'changed since' } })
    const again = await call('POST', '/v1/orders', { body: bodyOf(), headers })
    expect(again.status).toBe(201)
    expect(again.text).toBe(first.text)
    for (const name of ['location', 'etag', 'content-type']) expect(again.headers[name]).toBe(first.headers[name])
    expect((await call('GET', '/v1/orders')).body.data).toHaveLength(1)
    await call('DELETE', path)
    expect((await call('POST', '/v1/orders', { body: bodyOf(), headers })).text).toBe(first.text)
    expect((await call('GET', '/v1/orders')).body.data).toHaveLength(0)
  })

  test('with another body is refused, however slightly it differs; the same one in other words is not', async () => {
    const call = stranger()
    const headers = key()
    await call('POST', '/v1/orders', { body: bodyOf({ shipping: 0 }), headers })
    const other = await call('POST', '/v1/orders', { body: bodyOf({ shipping: 1 }), headers })
    expect(other).toMatchObject(refusal(422, 'idempotency_key_reused', 'idempotency-key'))
    const { currency, items } = bodyOf()
    const text = JSON.stringify({ items, note: null, currency }, null, 2)
    expect(await call('POST', '/v1/orders', { text, headers })).toMatchObject({ status: 201 })
    expect((await call('GET', '/v1/orders')).body.data).toHaveLength(1)
  })

  test('is one for each owner', async () => {
    const headers = key()
    const one = await stranger()('POST', '/v1/orders', { body: bodyOf(), headers })
    const two = await stranger()('POST', '/v1/orders', { body: bodyOf({ note: 'other' }), headers })
    expect(two.status).toBe(201)
    expect(two.body.id).not.toBe(one.body.id)
  })

  test('many at once make one order', async () => {
    const call = stranger()
    const headers = key()
    const all = await Promise.all(
      Array.from({ length: 10 }, () => call('POST', '/v1/orders', { body: bodyOf(), headers })),
    )
    expect(new Set(all.filter(({ status }) => status === 201).map(({ text }) => text)).size).toBe(1)
    for (const { status } of all) expect([201, 409]).toContain(status)
    expect((await call('GET', '/v1/orders')).body.data).toHaveLength(1)
  })

  test.each(['', 'two words', 'ü', 'x'.repeat(256), 'one, two'])('%j is refused', async (value) => {
    const refused = await stranger()('POST', '/v1/orders', { body: bodyOf(), headers: { 'idempotency-key': value } })
    expect(refused).toMatchObject(refusal(422, 'invalid_value', 'idempotency-key'))
  })
})

describe('PATCH /v1/orders/{id}', () => {
  const full = bodyOf({ reference: 'R', customer_reference: 'C', note: 'n', shipping: 5, state: 'placed' })

  test('changes the fields that are sent and leaves the rest', async () => {
    const call = stranger()
    const { body: before } = await call('POST', '/v1/orders', { body: full })
    for (const type of [
      'application/merge-patch+json',
      'application/json',
      'Application/Merge-Patch+JSON; charset=utf-8',
    ]) {
      const headers = { 'content-type': type }
      const { status, body } = await call('PATCH', `/v1/orders/${before.id}`, { body: { note: type }, headers })
      expect(status).toBe(200)
      expect(body).toEqual({ ...before, note: type, updated_at: body.updated_at })
    }
  })

  test('null clears what can be absent, and is a wrong type elsewhere', async () => {
    const call = stranger()
    const { body: before } = await call('POST', '/v1/orders', { body: full })
    const path = `/v1/orders/${before.id}`
    const nulls = { reference: null, customer_reference: null, note: null, shipping: null }
    const { body } = await call('PATCH', path, { body: nulls })
    expect(body).toMatchObject({ ...nulls, shipping: 0, total: 300, currency: 'EUR', state: 'placed' })
    for (const field of ['currency', 'state', 'items'])
      expect(await call('PATCH', path, { body: { [field]: null } })).toMatchObject(refusal(400, 'wrong_type', field))
  })

  test('of nothing, or of what is there already, changes nothing', async () => {
    const call = stranger()
    const created = await call('POST', '/v1/orders', { body: full })
    for (const body of [{}, { note: 'n' }, full]) {
      const patched = await call('PATCH', `/v1/orders/${created.body.id}`, { body })
      expect(patched).toMatchObject({ status: 200, text: created.text })
      expect(patched.headers['etag']).toBe(created.headers['etag'])
    }
  })

  test.each([
    [{ id: 'ord_1' }, 400, 'unknown_field', 'id'],
    [{ created_at: '2026-01-01T00:00:00Z' }, 400, 'unknown_field', 'created_at'],
    [{ updated_at: '2026-01-01T00:00:00Z' }, 400, 'unknown_field', 'updated_at'],
    [[], 400, 'wrong_type', undefined],
    [null, 400, 'wrong_type', undefined],
    [{ items: [{ sku: 'A' }] }, 400, 'missing_field', 'items.0.quantity'],
    [{ items: [] }, 422, 'invalid_value', 'items'],
    [{ state: 'lost' }, 422, 'invalid_value', 'state'],
  ])('with %j is %i %s %s', async (body, status, code, field) => {
    const call = stranger()
    const created = await call('POST', '/v1/orders', { body: full })
    const refused = await call('PATCH', `/v1/orders/${created.body.id}`, { body })
    expect(refused).toMatchObject(refusal(status, code, field))
    expect(await call('GET', `/v1/orders/${created.body.id}`)).toMatchObject({ text: created.text })
  })

  test('to the reference of another order is a conflict', async () => {
    const call = stranger()
    await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })
    const { body } = await call('POST', '/v1/orders', { body: bodyOf() })
    const patched = await call('PATCH', `/v1/orders/${body.id}`, { body: { reference: 'R' } })
    expect(patched).toMatchObject(refusal(409, 'order_reference_taken', 'reference'))
  })
})

describe('PUT /v1/orders/{id}', () => {
  test('replaces the order: what is absent is reset', async () => {
    const call = stranger()
    const { body: before } = await call('POST', '/v1/orders', {
      body: bodyOf({ reference: 'R', customer_reference: 'C', note: 'n', shipping: 5 }),
    })
    const { status, body } = await call('PUT', `/v1/orders/${before.id}`, { body: bodyOf({ currency: 'CHF' }) })
    expect(status).toBe(200)
    expect(body).toEqual({
      ...before,
      currency: 'CHF',
      reference: null,
      customer_reference: null,
      note: null,
      shipping: 0,
      total: 300,
      updated_at: body.updated_at,
    })
  })

  test('resets the state too, which only a draft can stand', async () => {
    const call = stranger()
    const { body } = await call('POST', '/v1/orders', { body: bodyOf({ state: 'placed' }) })
    const path = `/v1/orders/${body.id}`
    expect(await call('PUT', path, { body: bodyOf() })).toMatchObject(refusal(422, 'order_state_impossible', 'state'))
    expect(await call('PUT', path, { body: bodyOf({ state: 'placed' }) })).toMatchObject({ status: 200 })
  })

  test.each([
    [{ currency: undefined }, 400, 'missing_field', 'currency'],
    [{ items: undefined }, 400, 'missing_field', 'items'],
    [{ id: 'ord_1' }, 400, 'unknown_field', 'id'],
  ])('with %j is %i %s %s', async (change, status, code, field) => {
    const call = stranger()
    const { body } = await call('POST', '/v1/orders', { body: bodyOf() })
    const replaced = await call('PUT', `/v1/orders/${body.id}`, { body: bodyOf(change) })
    expect(replaced).toMatchObject(refusal(status, code, field))
  })
})

test('an order is deleted once, with its items', async () => {
  const call = stranger()
  const { body } = await call('POST', '/v1/orders', { body: bodyOf() })
  const path = `/v1/orders/${body.id}`
  expect(await call('DELETE', path)).toMatchObject({ status: 204, text: '' })
  expect(await call('DELETE', path)).toMatchObject(refusal(404, 'order_not_found', 'id'))
  expect(await call('GET', path)).toMatchObject(refusal(404, 'order_not_found', 'id'))
  expect(await call('GET', `${path}/items`)).toMatchObject(refusal(404, 'order_not_found', 'id'))
})

describe('an id', () => {
  const forms = [
    newOrderId(),
    '1',
    'ord_',
    `ORD_${newOrderId().slice(4)}`,
    `${newOrderId()}%00`,
    '%00',
    '%F0%9F%94%91',
    `'%3B drop table orders`,
    '%2e%2e%2f',
    'ord_%ED%95%9C',
    'x'.repeat(4000),
    '*',
    '-',
  ]
  test.each(forms)('that no order has is 404, whatever its form: %s', async (id) => {
    const call = stranger()
    const notFound = refusal(404, 'order_not_found', 'id')
    expect(await call('GET', `/v1/orders/${id}`)).toMatchObject(notFound)
    expect(await call('GET', `/v1/orders/${id}/items`)).toMatchObject(notFound)
    expect(await call('PUT', `/v1/orders/${id}`, { body: bodyOf() })).toMatchObject(notFound)
    expect(await call('PATCH', `/v1/orders/${id}`, { body: {} })).toMatchObject(notFound)
    expect(await call('DELETE', `/v1/orders/${id}`)).toMatchObject(notFound)
  })

  test("of another owner's order is 404 for everything", async () => {
    const { body } = await stranger()('POST', '/v1/orders', { body: bodyOf() })
    const path = `/v1/orders/${body.id}`
    const notFound = refusal(404, 'order_not_found', 'id')
    for (const call of [stranger(), callAs(app, undefined)]) {
      expect(await call('GET', path)).toMatchObject(notFound)
      expect(await call('GET', `${path}/items`)).toMatchObject(notFound)
      expect(await call('PUT', path, { body: bodyOf() })).toMatchObject(notFound)
      expect(await call('PATCH', path, { body: {} })).toMatchObject(notFound)
      expect(await call('DELETE', path)).toMatchObject(notFound)
      expect((await call('GET', '/v1/orders')).body.data).not.toContainEqual(body)
    }
  })
})

test('the public sees the demo orders, which are there once, and nobody else does', async () => {
  await seedDemoOrders(database)
  await seedDemoOrders(database)
  const anybody = callAs(app, undefined)
  const { body } = await anybody('GET', '/v1/orders')
  expect(body.data.map(({ reference }: { reference: string }) => reference)).toEqual(
    [5, 4, 3, 2, 1].map((number) => `DEMO-${number}`),
  )
  expect(await anybody('GET', `/v1/orders/${body.data[0].id}/items`)).toMatchObject({ status: 200 })
  expect((await stranger()('GET', '/v1/orders')).body.data).toEqual([])
})

describe('conditions', () => {
  test('a change that names a stale version is a conflict and changes nothing', async () => {
    const call = stranger()
    const created = await call('POST', '/v1/orders', { body: bodyOf() })
    const path = `/v1/orders/${created.body.id}`
    const stale = { 'if-match': String(created.headers['etag']) }
    const patched = await call('PATCH', path, { body: { note: 'mine' }, headers: stale })
    expect(patched.status).toBe(200)
    const conflict = refusal(409, 'order_changed', 'if-match')
    expect(await call('PATCH', path, { body: { note: 'late' }, headers: stale })).toMatchObject(conflict)
    expect(await call('PUT', path, { body: bodyOf(), headers: stale })).toMatchObject(conflict)
    expect(await call('DELETE', path, { headers: stale })).toMatchObject(conflict)
    expect(await call('GET', path)).toMatchObject({ text: patched.text })
    const fresh = { 'if-match': String(patched.headers['etag']) }
    expect(await call('DELETE', path, { headers: { 'if-match': 'W/"2"' } })).toMatchObject(conflict)
    expect(await call('PATCH', path, { body: {}, headers: { 'if-match': '*' } })).toMatchObject({ status: 200 })
    expect(await call('DELETE', path, { headers: fresh })).toMatchObject({ status: 204 })
    expect(await call('DELETE', path, { headers: fresh })).toMatchObject(refusal(404, 'order_not_found', 'id'))
  })

  test('of many changes of one version one is made', async () => {
    const call = stranger()
    const { body, headers } = await call('POST', '/v1/orders', { body: bodyOf() })
    const changes = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        call('PATCH', `/v1/orders/${body.id}`, {
          body: { note: String(index) },
          headers: { 'if-match': String(headers['etag']) },
        }),
      ),
    )
    expect(changes.map(({ status }) => status).toSorted()).toEqual([200, ...Array(7).fill(409)])
  })

  test('what the client has already is not sent again', async () => {
    const call = stranger()
    const { body, headers } = await call('POST', '/v1/orders', { body: bodyOf() })
    const etag = String(headers['etag'])
    const get = (known: string) => call('GET', `/v1/orders/${body.id}`, { headers: { 'if-none-match': known } })
    const unchanged = await get(`"0", W/${etag}`)
    expect(unchanged).toMatchObject({ status: 304, text: '' })
    expect(unchanged.headers['etag']).toBe(etag)
    expect(await get('"0"')).toMatchObject({ status: 200 })
  })
})

test('an order goes through its states as the graph says, by PATCH and by PUT', async () => {
  const graph: Readonly<Record<string, readonly string[]>> = {
    draft: ['placed', 'cancelled'],
    placed: ['paid', 'cancelled'],
    paid: ['shipped', 'cancelled'],
    shipped: [],
    cancelled: [],
  }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ method: fc.constantFrom('PATCH', 'PUT'), to: fc.constantFrom(...orderStates) }), {
        maxLength: 8,
      }),
      async (steps) => {
        const call = stranger()
        const { body: order } = await call('POST', '/v1/orders', { body: bodyOf() })
        let state = 'draft'
        for (const { method, to } of steps) {
          const body = method === 'PUT' ? bodyOf({ state: to }) : { state: to }
          const answer = await call(method as 'PUT' | 'PATCH', `/v1/orders/${order.id}`, { body })
          if (to === state || graph[state]?.includes(to)) {
            expect(answer).toMatchObject({ status: 200, body: { state: to } })
            state = to
          } else expect(answer).toMatchObject(refusal(422, 'order_state_impossible', 'state'))
        }
        expect(await call('GET', `/v1/orders/${order.id}`)).toMatchObject({ body: { state } })
      },
    ),
    { numRuns: 30 },
  )
})

describe('lists', () => {
  type Call = ReturnType<typeof stranger>
  const createMany = async (call: Call, count: number, change: object = {}) => {
    const ids: string[] = []
    for (let index = 0; index < count; index++)
      ids.unshift((await call('POST', '/v1/orders', { body: bodyOf(change) })).body.id)
    return ids
  }
  const idsOf = (body: { readonly data: readonly { readonly id: string }[] }) => body.data.map(({ id }) => id)

  const walk = async (call: Call, path: string, parameters: Record<string, string>) => {
    const pages: string[][] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = new URLSearchParams({ ...parameters, ...(cursor !== '' && { cursor }) })
      const { status, body }: { status: number; body: any } = await call('GET', `${path}?${query}`)
      expect(status).toBe(200)
      expect(body.page.has_more).toBe(body.page.next_cursor !== null)
      pages.push(idsOf(body))
      cursor = body.page.next_cursor
    }
    return pages
  }

  test('are walked by their cursors, newest first, with pages of the asked size and no empty last one', async () => {
    const call = stranger()
    const ids = await createMany(call, 9)
    expect(await walk(call, '/v1/orders', { limit: '3' })).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
    expect((await walk(call, '/v1/orders', { limit: '4' })).map((page) => page.length)).toEqual([4, 4, 1])
    expect(await walk(call, '/v1/orders', {})).toEqual([ids])
    expect(await walk(stranger(), '/v1/orders', {})).toEqual([[]])
  })

  test('have 20 entries unless asked otherwise, and 100 at most', async () => {
    const call = stranger()
    const items = Array.from({ length: 100 }, (_, index) => ({ sku: `S${index}`, quantity: 1, unit_price: index }))
    const { body: order } = await call('POST', '/v1/orders', { body: bodyOf({ items }) })
    const path = `/v1/orders/${order.id}/items`
    expect((await walk(call, path, {})).map((page) => page.length)).toEqual([20, 20, 20, 20, 20])
    expect(await walk(call, path, { limit: '7' })).toHaveLength(15)
    expect((await walk(call, path, { limit: '7' })).flat()).toEqual(idsOf({ data: order.items }))
    await createMany(call, 101)
    for (const limit of ['100', '101', '999999999999999999999999'])
      expect((await walk(call, '/v1/orders', { limit })).map((page) => page.length)).toEqual([100, 2])
  })

  test('of items are filtered by sku', async () => {
    const call = stranger()
    const items = ['A', 'B', 'A', 'A'].map((sku, index) => ({ sku, quantity: 1, unit_price: index }))
    const { body: order } = await call('POST', '/v1/orders', { body: bodyOf({ items }) })
    const pages = await walk(call, `/v1/orders/${order.id}/items`, { sku: 'A', limit: '2' })
    expect(pages).toEqual([[order.items[0].id, order.items[2].id], [order.items[3].id]])
    const { body } = await call('GET', `/v1/orders/${order.id}/items?sku=B`)
    expect(body.data).toEqual([order.items[1]])
  })

  test('are filtered by each documented field', async () => {
    const call = stranger()
    const placed = await createMany(call, 2, { state: 'placed', customer_reference: 'C 1+1' })
    const draft = await createMany(call, 1)
    const { body } = await call('GET', `/v1/orders/${draft[0]}`)
    const find = async (parameters: Record<string, string>) =>
      idsOf((await call('GET', `/v1/orders?${new URLSearchParams(parameters)}`)).body)
    expect(await find({ state: 'placed' })).toEqual(placed)
    expect(await find({ customer_reference: 'C 1+1' })).toEqual(placed)
    expect(await find({ state: 'draft', customer_reference: 'C 1+1' })).toEqual([])
    expect(await find({ created_after: body.created_at })).toEqual([])
    expect(await find({ created_before: body.created_at })).not.toContain(draft[0])
    // A part of a millisecond after the order is after the order.
    expect(await find({ created_before: body.created_at.replace('Z', '0001Z') })).toContain(draft[0])
    expect(await find({ created_after: '0000-01-01T00:00:00Z', created_before: '9999-12-31T23:59:60+00:00' })).toEqual([
      ...draft,
      ...placed,
    ])
  })

  test('take a cursor of their own only: of the same owner, resource and filters, as it was given', async () => {
    const call = stranger()
    await createMany(call, 3, { state: 'placed', customer_reference: 'C' })
    const { body: order } = await call('POST', '/v1/orders', { body: bodyOf() })
    const query = 'state=placed&customer_reference=C&limit=1'
    const { body } = await call('GET', `/v1/orders?${query}`)
    const cursor: string = body.page.next_cursor
    const invalid = refusal(400, 'cursor_invalid', 'cursor')
    expect(await call('GET', `/v1/orders?${query}&cursor=${cursor}`)).toMatchObject({ status: 200 })
    // The size of the pages is no filter.
    expect(await call('GET', `/v1/orders?state=placed&customer_reference=C&cursor=${cursor}`)).toMatchObject({
      status: 200,
    })
    for (const other of [
      `/v1/orders?cursor=${cursor}`,
      `/v1/orders?state=placed&cursor=${cursor}`,
      `/v1/orders?state=draft&customer_reference=C&cursor=${cursor}`,
      `/v1/orders?state=placed&customer_reference=c&cursor=${cursor}`,
      `/v1/orders?${query}&created_after=2026-01-01T00:00:00Z&cursor=${cursor}`,
      `/v1/orders/${order.id}/items?cursor=${cursor}`,
      `/v1/orders?${query}&cursor=${cursor.slice(0, -1)}`,
      `/v1/orders?${query}&cursor=${cursor}A`,
      `/v1/orders?${query}&cursor=`,
      `/v1/orders?${query}&cursor=%00`,
    ])
      expect(await call('GET', other)).toMatchObject(invalid)
    const another = stranger()
    expect(await another('GET', `/v1/orders?${query}&cursor=${cursor}`)).toMatchObject(invalid)
  })

  test.each([
    ['limit=0', 422, 'invalid_value', 'limit'],
    ['limit=-5', 422, 'invalid_value', 'limit'],
    ['limit=abc', 400, 'wrong_type', 'limit'],
    ['limit=', 400, 'wrong_type', 'limit'],
    ['limit=2&limit=2', 400, 'repeated_field', 'limit'],
    ['offset=2', 400, 'unknown_field', 'offset'],
    ['state=lost', 422, 'invalid_value', 'state'],
    ['state=', 422, 'invalid_value', 'state'],
    ['state=draft&state=paid', 400, 'repeated_field', 'state'],
    ['customer_reference=', 422, 'invalid_value', 'customer_reference'],
    ['customer_reference=%00', 422, 'invalid_value', 'customer_reference'],
    ['created_after=today', 422, 'invalid_value', 'created_after'],
    ['created_after=2026-02-30T00:00:00Z', 422, 'invalid_value', 'created_after'],
    ['created_before=2026-01-01T00:00:00+01:00', 422, 'invalid_value', 'created_before'],
  ])('with %s are %i %s %s', async (query, status, code, field) => {
    expect(await stranger()('GET', `/v1/orders?${query}`)).toMatchObject(refusal(status, code, field))
  })
})

test('no route takes a parameter that it does not document', async () => {
  const call = stranger()
  const { body } = await call('POST', '/v1/orders', { body: bodyOf() })
  const path = `/v1/orders/${body.id}`
  const unknown = refusal(400, 'unknown_field', 'x')
  expect(await call('POST', '/v1/orders?x=1', { body: bodyOf() })).toMatchObject(unknown)
  expect(await call('GET', `${path}?x=1`)).toMatchObject(unknown)
  expect(await call('PUT', `${path}?x=1`, { body: bodyOf() })).toMatchObject(unknown)
  expect(await call('PATCH', `${path}?x=1`, { body: {} })).toMatchObject(unknown)
  expect(await call('DELETE', `${path}?x=1`)).toMatchObject(unknown)
  expect(await call('GET', `${path}/items?x=1`)).toMatchObject(unknown)
})

describe('text that the database cannot hold', () => {
  test.each(['reference', 'customer_reference', 'note', 'currency'])('is refused in %s', async (field) => {
    for (const text of ['a\\u0000b', '\\ud800', '\\udc00x', '\\udc00\\ud800'])
      expect(
        await stranger()('POST', '/v1/orders', {
          text: `{"${field}":"${text}","currency":"EUR","items":[]}`.replace(
            field === 'currency' ? ',"currency":"EUR"' : '',
            '',
          ),
        }),
      ).toMatchObject(refusal(422, 'invalid_value', field))
  })

  test('of any other kind comes back as it was sent', async () => {
    const call = stranger()
    await fc.assert(
      fc.asyncProperty(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }), async (text) => {
        const { status, body } = await call('POST', '/v1/orders', {
          body: bodyOf({ note: text, customer_reference: text }),
        })
        const isOneLine = !/[\u0000-\u001f\u007f]/.test(text)
        expect(status).toBe(isOneLine ? 201 : 422)
        if (isOneLine) expect(body).toMatchObject({ note: text, customer_reference: text })
      }),
    )
  })
})

test('no body at all makes the server fail', async () => {
  const call = stranger()
  const scalar = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.integer(),
    fc.double(),
    fc.boolean(),
    fc.constantFrom(null, -0, 2 ** 31, 2 ** 53, 1e300, 'EUR', 'draft', '\u0000', '\ud800'),
  )
  const item = fc.record(
    {
      sku: fc.oneof(fc.constant('A'), scalar),
      quantity: fc.oneof(fc.constant(1), scalar),
      unit_price: fc.oneof(fc.constant(1), scalar),
    },
    { requiredKeys: [] },
  )
  const mostlyRight = fc.record(
    {
      reference: fc.oneof(fc.constantFrom('R1', 'R2'), scalar),
      customer_reference: scalar,
      state: fc.oneof(fc.constantFrom(...orderStates), scalar),
      currency: fc.oneof(fc.constant('EUR'), scalar),
      note: scalar,
      shipping: scalar,
      items: fc.oneof(fc.array(item, { maxLength: 3 }), scalar),
      extra: fc.jsonValue(),
    },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(
      fc.oneof(mostlyRight, fc.jsonValue()),
      fc.constantFrom('POST', 'PUT', 'PATCH'),
      async (body, method) => {
        const { body: order } = await call('POST', '/v1/orders', { body: bodyOf() })
        const path = method === 'POST' ? '/v1/orders' : `/v1/orders/${order.id}`
        const { status, body: answer } = await call(method as 'PUT', path, { text: JSON.stringify(body) ?? '' })
        expect([200, 201, 400, 409, 422]).toContain(status)
        if (status >= 400) expect(answer.error.code).toEqual(expect.any(String))
      },
    ),
    { numRuns: 300 },
  )
})

describe('the document', () => {
  const paths = (): any => app.swagger().paths
  const ajv = () => {
    const instance = new Ajv({ strict: false, formats: { 'date-time': true } })
    instance.addSchema(app.swagger(), 'document')
    return instance
  }
  const conforms = (schema: object, value: unknown) => {
    const text = JSON.stringify(schema).replaceAll('"#/components', '"document#/components')
    const validate = ajv().compile(JSON.parse(text))
    expect(validate(value), JSON.stringify(validate.errors)).toBe(true)
  }

  test('has an example for every body, which works as it stands and any number of times', async () => {
    const call = stranger()
    for (let time = 0; time < 2; time++) {
      const exampleOf = (path: string, method: string, type = 'application/json') =>
        paths()[path][method].requestBody.content[type].example
      const created = await call('POST', '/v1/orders', { body: exampleOf('/v1/orders', 'post') })
      expect(created.status).toBe(201)
      const path = `/v1/orders/${created.body.id}`
      expect(await call('PUT', path, { body: exampleOf('/v1/orders/{id}', 'put') })).toMatchObject({ status: 200 })
      for (const type of ['application/json', 'application/merge-patch+json']) {
        const body = exampleOf('/v1/orders/{id}', 'patch', type)
        expect(await call('PATCH', path, { body, headers: { 'content-type': type } })).toMatchObject({ status: 200 })
      }
    }
    const bodies = Object.values<object>(paths()).flatMap((path) =>
      Object.values(path).flatMap((operation) => Object.values<any>(operation.requestBody?.content ?? {})),
    )
    expect(bodies).toHaveLength(4)
    for (const body of bodies) expect(body.example).toEqual(expect.any(Object))
  })

  test('describes what is answered: every status, its headers and its body', async () => {
    const call = stranger()
    const { body: order } = await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })
    const path = `/v1/orders/${order.id}`
    const answers = [
      ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf() })],
      ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: {} })],
      ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf({ reference: 'R' }) })],
      ['/v1/orders', 'post', await call('POST', '/v1/orders', { body: bodyOf({ items: [] }) })],
      [
        '/v1/orders',
        'post',
        await call('POST', '/v1/orders', { text: 'x', headers: { 'content-type': 'text/plain' } }),
      ],
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
      const described = paths()[template][method].responses[status]
      expect(described, `${method} ${template} ${status}`).toBeDefined()
      if (body !== undefined) conforms(described.content['application/json'].schema, body)
      for (const name of Object.keys(described.headers ?? {})) expect(headers).toHaveProperty(name.toLowerCase())
    }
  })
})

test('while the database is away the answer is 503 and when to come back, and then all is well again', async () => {
  await using postgres = await startPostgres()
  await using away = await openOrThrow(await postgres.createDatabase())
  const other = await createRoutesApp(away)
  const call = callAs(other, 'acme')
  const { body } = await call('POST', '/v1/orders', { body: bodyOf() })
  const path = `/v1/orders/${body.id}`
  await postgres.stop()
  const headers = { 'idempotency-key': 'k' }
  for (const answer of [
    await call('GET', '/v1/orders'),
    await call('GET', path),
    await call('GET', `${path}/items`),
    await call('POST', '/v1/orders', { body: bodyOf() }),
    await call('POST', '/v1/orders', { body: bodyOf(), headers }),
    await call('PUT', path, { body: bodyOf() }),
    await call('PATCH', path, { body: { note: 'n' } }),
    await call('DELETE', path),
  ]) {
    expect(answer).toMatchObject(refusal(503, 'database_unavailable'))
    expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0)
  }
  await postgres.start()
  expect(await call('GET', path)).toMatchObject({ status: 200, body })
  expect(await call('POST', '/v1/orders', { body: bodyOf(), headers })).toMatchObject({ status: 201 })
  await other.close()
})
