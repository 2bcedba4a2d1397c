import { expect, test } from 'vitest'
import { bodyOf, refusal, useRoutes } from './routes.fixture.ts'

const { stranger } = useRoutes()

type Call = ReturnType<typeof stranger>
const createMany = async (call: Call, count: number, change: object = {}) => {
  const ids: string[] = []
  for (let index = 0; index < count; index++)
    ids.unshift((await call('POST', '/v1/orders', { body: bodyOf(change) })).body.id)
  return ids
}
const idsOf = (body: { readonly data: readonly { readonly id: string }[] }) => body.data.map(({ id }) => id)

type Page = {
  readonly data: readonly { readonly id: string }[]
  readonly page: { readonly next_cursor: string | null; readonly has_more: boolean }
}

const walk = async (call: Call, path: string, parameters: Record<string, string>) => {
  const pages: string[][] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ ...parameters, ...(cursor !== '' && { cursor }) })
    const { status, body }: { status: number; body: Page } = await call('GET', `${path}?${query}`)
    expect(status).toBe(200)
    expect(body.page.has_more).toBe(body.page.next_cursor !== null)
    pages.push(idsOf(body))
    if (pages.length > 100) throw new Error('the walk does not end')
    cursor = body.page.next_cursor
  }
  return pages
}

test('lists are walked by their cursors, newest first, with pages of the asked size and no empty last one', async () => {
  const call = stranger()
  const ids = await createMany(call, 9)
  expect(await walk(call, '/v1/orders', { limit: '3' })).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)])
  expect((await walk(call, '/v1/orders', { limit: '4' })).map((page) => page.length)).toEqual([4, 4, 1])
  expect(await walk(call, '/v1/orders', {})).toEqual([ids])
  expect(await walk(stranger(), '/v1/orders', {})).toEqual([[]])
})

test('lists have 20 entries unless asked otherwise, and 100 at most', async () => {
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

test('lists of items are filtered by sku', async () => {
  const call = stranger()
  const items = ['A', 'B', 'A', 'A'].map((sku, index) => ({ sku, quantity: 1, unit_price: index }))
  const { body: order } = await call('POST', '/v1/orders', { body: bodyOf({ items }) })
  const pages = await walk(call, `/v1/orders/${order.id}/items`, { sku: 'A', limit: '2' })
  expect(pages).toEqual([[order.items[0].id, order.items[2].id], [order.items[3].id]])
  const { body } = await call('GET', `/v1/orders/${order.id}/items?sku=B`)
  expect(body.data).toEqual([order.items[1]])
})

test('lists are filtered by each documented field', async () => {
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

test('lists take a cursor of their own only: of the same owner, resource and filters, as it was given', async () => {
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
])('lists with %s are %i %s %s', async (query, status, code, field) => {
  expect(await stranger()('GET', `/v1/orders?${query}`)).toMatchObject(refusal(status, code, field))
})
