import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { newOrderId } from './identifiers.ts'
import { orderStates } from './order-state.ts'
import { bodyOf, refusal, useRoutes } from './routes.fixture.ts'

const { stranger, anybody } = useRoutes()

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
    for (const call of [stranger(), anybody()]) {
      expect(await call('GET', path)).toMatchObject(notFound)
      expect(await call('GET', `${path}/items`)).toMatchObject(notFound)
      expect(await call('PUT', path, { body: bodyOf() })).toMatchObject(notFound)
      expect(await call('PATCH', path, { body: {} })).toMatchObject(notFound)
      expect(await call('DELETE', path)).toMatchObject(notFound)
      expect((await call('GET', '/v1/orders')).body.data).not.toContainEqual(body)
    }
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
        const isOneLine = !/\p{Cc}/u.test(text)
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
