import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeDatabases } from '../database/databases.fixture.ts'
import { seedDemoOrders } from './demo-orders.ts'
import { newOrderId } from './identifiers.ts'
import type { Order } from './order.ts'
import type { OrderFilter } from './order-list.ts'
import { orderStates } from './order-state.ts'
import { backdate, contentOf, createOrThrow, newOwner, noFilter } from './orders.fixture.ts'
import { PUBLIC } from './owner.ts'
import { createOrderRepository } from './repository.ts'

describeDatabases((database, kind) => {
  const orders = () => createOrderRepository(database())
  const create = (owner: string, change = {}) => createOrThrow(orders(), owner, change)
  const first = { filter: noFilter, after: undefined, limit: 100 }

  /** All pages from the first to the last, with something between each two. */
  const walk = async (owner: string, limit: number, between: () => Promise<unknown> = async () => {}) => {
    const seen: Order[] = []
    for (let after: Order | undefined; ; ) {
      const page = await orders().list({ owner, filter: noFilter, after, limit })
      seen.push(...page)
      if (seen.length > 100) throw new Error('the walk does not end')
      if (page.length < limit) return seen
      after = page.at(-1)
      await between()
    }
  }

  test('an order is found as it was created, by its owner only', async () => {
    const owner = newOwner()
    const content = contentOf({
      reference: 'R "1" ключ',
      customerReference: 'C',
      state: 'placed',
      note: 'two\nlines 🔑',
      shipping: 490,
      items: [
        { sku: 'B', quantity: 10_000, unitPrice: 1_000_000_000 },
        { sku: 'A', quantity: 1, unitPrice: 0 },
      ],
    })
    const before = Date.now()
    const order = await create(owner, content)
    expect(order).toMatchObject({ ...content, version: 1, items: content.items })
    expect(order.createdAtMs).toBe(order.updatedAtMs)
    // The database's clock is this machine's.
    expect(order.createdAtMs).toBeGreaterThanOrEqual(before - 1)
    expect(await orders().find({ owner, id: order.id })).toEqual(order)
    expect(await orders().find({ owner: newOwner(), id: order.id })).toBeUndefined()
    expect(await orders().find({ owner, id: newOrderId() })).toBeUndefined()
  })

  describe('a list', () => {
    test('has what passes every filter, newest first', async () => {
      const owner = newOwner()
      await create(newOwner())
      const all: Order[] = []
      for (const [index, state] of [...orderStates, ...orderStates].entries()) {
        const order = await create(owner, { state, customerReference: index < 5 ? 'C1' : 'C2' })
        // Two and two at the same instant.
        const createdAtMs = Date.UTC(2026, 0, 1) + Math.floor(index / 2) * 1000
        await backdate(database(), order.id, createdAtMs)
        all.unshift({ ...order, createdAtMs })
      }
      all.sort((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1))
      const instants = [undefined, Date.UTC(2026, 0, 1), Date.UTC(2026, 0, 1) + 2000, Date.UTC(2026, 0, 1) + 2001]
      const filters: OrderFilter[] = [undefined, 'placed' as const].flatMap((state) =>
        [undefined, 'C1', ''].flatMap((customerReference) =>
          instants.flatMap((createdAfterMs) =>
            instants.map((createdBeforeMs) => ({ state, customerReference, createdAfterMs, createdBeforeMs })),
          ),
        ),
      )
      for (const filter of filters) {
        const expected = all.filter(
          (order) =>
            (filter.state === undefined || order.state === filter.state) &&
            (filter.customerReference === undefined || order.customerReference === filter.customerReference) &&
            (filter.createdAfterMs === undefined || order.createdAtMs > filter.createdAfterMs) &&
            (filter.createdBeforeMs === undefined || order.createdAtMs < filter.createdBeforeMs),
        )
        expect(await orders().list({ owner, ...first, filter })).toEqual(expected)
      }
    })

    test('walked page by page has every order that stays once, whatever comes and goes meanwhile', async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.record({
            // Few instants, so that many orders share one.
            instants: fc.array(fc.integer({ min: 0, max: 3 }), { minLength: 1, maxLength: 12 }),
            removed: fc.array(fc.nat(11), { maxLength: 6 }),
            added: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 6 }),
            limit: fc.integer({ min: 1, max: 4 }),
          }),
          async ({ instants, removed, added, limit }) => {
            const owner = newOwner()
            const createAt = async (instant: number) => {
              const { id } = await create(owner)
              await backdate(database(), id, Date.UTC(2026, 0, 1) + instant)
              return id
            }
            const ids: string[] = []
            for (const instant of instants) ids.push(await createAt(instant))
            const toRemove = removed.flatMap((index) => ids[index] ?? [])
            const toAdd = [...added]
            const seen = await walk(owner, limit, async () => {
              const id = toRemove.pop()
              if (id !== undefined) await orders().remove({ owner, id }, () => {})
              const instant = toAdd.pop()
              if (instant !== undefined) await createAt(instant)
            })
            const seenIds = seen.map(({ id }) => id)
            expect(seenIds).toEqual([...new Set(seenIds)])
            const removedIds = removed.flatMap((index) => ids[index] ?? [])
            expect(seenIds).toEqual(expect.arrayContaining(ids.filter((id) => !removedIds.includes(id))))
            const newestFirst = seen.toSorted((a, b) => b.createdAtMs - a.createdAtMs || (a.id < b.id ? 1 : -1))
            expect(seenIds).toEqual(newestFirst.map(({ id }) => id))
          },
        ),
        { numRuns: 25 },
      )
    })

    test('goes on after an order that has gone', async () => {
      const owner = newOwner()
      const ids = [await create(owner), await create(owner), await create(owner)].map(({ id }) => id).toReversed()
      const [newest] = await orders().list({ owner, ...first, limit: 1 })
      await orders().remove({ owner, id: newest?.id ?? '' }, () => {})
      const rest = await orders().list({ owner, ...first, after: newest })
      expect(rest.map(({ id }) => id)).toEqual(ids.slice(1))
    })
  })

  describe('a change', () => {
    test('is there afterwards, as a new version', async () => {
      const owner = newOwner()
      const order = await create(owner)
      const changed = await orders().change({ owner, id: order.id }, (present) => ({ ...present, note: 'new' }))
      expect(changed).toMatchObject({
        ok: true,
        order: { ...order, note: 'new', version: 2, updatedAtMs: expect.any(Number) },
      })
      const found = await orders().find({ owner, id: order.id })
      expect(changed).toEqual({ ok: true, order: found })
      expect(found?.updatedAtMs).toBeGreaterThanOrEqual(order.updatedAtMs)
    })

    test('of nothing makes no new version', async () => {
      const owner = newOwner()
      const order = await create(owner, { reference: 'same' })
      const edit = () => contentOf({ reference: 'same' })
      expect(await orders().change({ owner, id: order.id }, edit)).toEqual({ ok: true, order })
      expect(await orders().find({ owner, id: order.id })).toEqual(order)
    })

    test('of the items leaves those that stay in their places', async () => {
      const owner = newOwner()
      const line = (sku: string, quantity = 1) => ({ sku, quantity, unitPrice: 1 })
      const order = await create(owner, { items: ['A', 'B', 'C'].map((sku) => line(sku)) })
      await orders().change({ owner, id: order.id }, (present) => ({
        ...present,
        items: [line('A', 9), line('C'), line('D')],
      }))
      const found = await orders().find({ owner, id: order.id })
      expect(found?.items.map(({ sku, quantity }) => [sku, quantity])).toEqual([
        ['A', 9],
        ['C', 1],
        ['D', 1],
      ])
      expect([found?.items[0]?.id, found?.items[1]?.id]).toEqual([order.items[0]?.id, order.items[2]?.id])
    })

    test('whose edit throws leaves the order as it is', async () => {
      const owner = newOwner()
      const order = await create(owner)
      const refusal = new Error('planted')
      const refuse = () => {
        throw refusal
      }
      await expect(orders().change({ owner, id: order.id }, refuse)).rejects.toBe(refusal)
      await expect(orders().remove({ owner, id: order.id }, refuse)).rejects.toBe(refusal)
      expect(await orders().find({ owner, id: order.id })).toEqual(order)
    })

    test("of another owner's order finds none", async () => {
      const order = await create(newOwner())
      const target = { owner: newOwner(), id: order.id }
      expect(await orders().change(target, () => contentOf())).toEqual({ ok: false, reason: 'not_found' })
      expect(await orders().remove(target, () => {})).toBe(false)
    })

    test('many at once are made one after the other, and none is lost', async () => {
      const owner = newOwner()
      const { id } = await create(owner, { shipping: 0 })
      const increments = Array.from({ length: 20 }, () =>
        orders().change({ owner, id }, (present) => ({
          ...present,
          shipping: present.shipping + 1,
          items: [...present.items, { sku: 'N', quantity: 1, unitPrice: 1 }],
        })),
      )
      await Promise.all(increments)
      const found = await orders().find({ owner, id })
      expect(found).toMatchObject({ shipping: 20, version: 21 })
      expect(found?.items.length).toBe(21)
    })
  })

  describe('a reference', () => {
    test('is one order’s of an owner; none is many orders’', async () => {
      const owner = newOwner()
      await create(owner, { reference: 'R' })
      const other = await create(owner)
      await create(owner)
      await create(newOwner(), { reference: 'R' })
      const taken = { ok: false, reason: 'reference_taken' }
      expect(await orders().create(owner, contentOf({ reference: 'R' }))).toEqual(taken)
      expect(await orders().change({ owner, id: other.id }, () => contentOf({ reference: 'R' }))).toEqual(taken)
      const attempt = { client: owner, key: randomUUID(), fingerprint: 'f' }
      expect(await orders().create(owner, contentOf({ reference: 'R' }), attempt)).toEqual(taken)
      // What was refused used the key up for nothing.
      expect(await orders().create(owner, contentOf({ reference: 'S' }), attempt)).toMatchObject({ ok: true })
      expect((await walk(owner, 10)).map(({ reference }) => reference)).toEqual(['S', null, null, 'R'])
    })

    test('can be taken again when its order has gone, or has another', async () => {
      const owner = newOwner()
      const one = await create(owner, { reference: 'R' })
      await orders().change({ owner, id: one.id }, () => contentOf({ reference: 'S' }))
      const two = await create(owner, { reference: 'R' })
      await orders().remove({ owner, id: two.id }, () => {})
      await create(owner, { reference: 'R' })
    })

    test('wanted by many at once is one order’s', async () => {
      const owner = newOwner()
      const outcomes = await Promise.all(
        Array.from({ length: 8 }, () => orders().create(owner, contentOf({ reference: 'R' }))),
      )
      expect(outcomes.filter(({ ok }) => ok).length).toBe(1)
    })

    test('that two orders want of each other stays where it is, and neither change fails otherwise', async () => {
      const owner = newOwner()
      const [one, two] = [await create(owner, { reference: '1' }), await create(owner, { reference: '2' })]
      const outcomes = await Promise.all([
        orders().change({ owner, id: one.id }, () => contentOf({ reference: '2' })),
        orders().change({ owner, id: two.id }, () => contentOf({ reference: '1' })),
      ])
      for (const outcome of outcomes) expect(outcome).toEqual({ ok: false, reason: 'reference_taken' })
    })
  })

  test('an attempt that is repeated, also at once, makes one order and tells of it as it was', async () => {
    const owner = newOwner()
    const attempt = { client: owner, key: randomUUID(), fingerprint: 'f' }
    const attempts = () => Array.from({ length: 6 }, () => orders().create(owner, contentOf(), attempt))
    const outcomes = [...(await Promise.all(attempts())), await orders().create(owner, contentOf(), attempt)]
    const [order] = await walk(owner, 10)
    expect(await walk(owner, 10)).toHaveLength(1)
    for (const outcome of outcomes)
      expect([
        { ok: true, order },
        { ok: false, reason: 'in_use' },
      ]).toContainEqual(outcome)
    expect(outcomes.at(-1)).toEqual({ ok: true, order })
    await orders().change({ owner, id: order?.id ?? '' }, () => contentOf({ note: 'changed' }))
    expect(await orders().create(owner, contentOf(), attempt)).toEqual({ ok: true, order })
  })

  test('an order that is removed takes its items with it', async () => {
    const owner = newOwner()
    const { id } = await create(owner)
    expect(await orders().remove({ owner, id }, () => {})).toBe(true)
    expect(await orders().remove({ owner, id }, () => {})).toBe(false)
    expect(await database().query('select from order_items where order_id = $1', [id])).toEqual([])
  })

  test('items are walked in their order, filtered by sku, and are none of a missing order', async () => {
    const owner = newOwner()
    const items = Array.from({ length: 25 }, (_, index) => ({ sku: `S${index % 3}`, quantity: 1, unitPrice: index }))
    const order = await create(owner, { items })
    const target = { owner, id: order.id }
    const head = await orders().listItems({ ...target, sku: undefined, after: undefined, limit: 10 })
    expect(head).toEqual(order.items.slice(0, 10))
    expect(await orders().listItems({ ...target, sku: undefined, after: head?.at(-1)?.id, limit: 100 })).toEqual(
      order.items.slice(10),
    )
    expect(await orders().listItems({ ...target, sku: 'S1', after: order.items[1]?.id, limit: 3 })).toEqual(
      [4, 7, 10].map((index) => order.items[index]),
    )
    expect(await orders().listItems({ ...target, owner: newOwner(), sku: undefined, after: undefined, limit: 1 })).toBe(
      undefined,
    )
  })

  test('the demo orders are written once, by however many processes at once', async () => {
    await Promise.all(Array.from({ length: 5 }, () => seedDemoOrders(database())))
    expect((await walk(PUBLIC, 100)).map(({ reference }) => reference)).toEqual(
      [5, 4, 3, 2, 1].map((number) => `DEMO-${number}`),
    )
  })

  if (kind === 'PostgreSQL')
    test('a change that waited for another sees all of it, the items too', async () => {
      const owner = newOwner()
      const { id } = await create(owner, { items: [{ sku: 'OLD', quantity: 1, unitPrice: 1 }] })
      const holdsLock = Promise.withResolvers<void>()
      const mayCommit = Promise.withResolvers<void>()
      const other = database().transaction(async (queries) => {
        await queries.query('update orders set version = version + 1 where id = $1', [id])
        await queries.query(`update order_items set sku = 'NEW' where order_id = $1`, [id])
        holdsLock.resolve()
        await mayCommit.promise
      })
      await holdsLock.promise
      let seen: Order | undefined
      const waiting = orders().change({ owner, id }, (order) => {
        seen = order
        return order
      })
      const waiters = `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`
      try {
        await expect.poll(async () => (await database().query(waiters)).length).toBe(1)
      } finally {
        mayCommit.resolve()
        await Promise.all([other, waiting])
      }
      expect(seen).toMatchObject({ version: 2, items: [{ sku: 'NEW' }] })
    })
})
