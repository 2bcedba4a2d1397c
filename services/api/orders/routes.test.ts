import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openOrThrow } from '../database/databases.fixture.ts'
import { startPostgres } from '../database/postgres.fixture.ts'
import { seedDemoOrders } from './demo-orders.ts'
import { orderStates } from './order-state.ts'
import { bodyOf, callAs, createRoutesApp, refusal, useRoutes } from './routes.fixture.ts'

const { database, stranger, anybody } = useRoutes()

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

test('the public sees the demo orders, which are there once, and nobody else does', async () => {
  await seedDemoOrders(database())
  await seedDemoOrders(database())
  const call = anybody()
  const { body } = await call('GET', '/v1/orders')
  expect(body.data.map(({ reference }: { reference: string }) => reference)).toEqual(
    [5, 4, 3, 2, 1].map((number) => `DEMO-${number}`),
  )
  expect(await call('GET', `/v1/orders/${body.data[0].id}/items`)).toMatchObject({ status: 200 })
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
