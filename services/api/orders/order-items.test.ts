import fc from 'fast-check'
import { expect, test } from 'vitest'
import { newItemId } from './identifiers.ts'
import { identifyItems } from './order-items.ts'

const item = (sku: string, quantity = 1) => ({ sku, quantity, unitPrice: 100 })
const itemsOf = (...skus: readonly string[]) =>
  identifyItems(
    [],
    skus.map((sku) => item(sku)),
  )

const contents = fc.array(
  fc.record({ sku: fc.constantFrom('A', 'B', 'C'), quantity: fc.integer({ min: 1, max: 9 }), unitPrice: fc.nat() }),
  { maxLength: 8 },
)

test('items are those wanted, in the order wanted, and their ids ascend', () => {
  fc.assert(
    fc.property(contents, contents, (before, wanted) => {
      const items = identifyItems(identifyItems([], before), wanted)
      expect(items.map(({ id: _, ...content }) => content)).toEqual(wanted)
      const ids = items.map(({ id }) => id)
      expect(ids).toEqual([...new Set(ids)].toSorted())
    }),
  )
})

test('the same items keep their ids, whatever becomes of their quantities', () => {
  const present = itemsOf('A', 'B', 'A')
  const wanted = [item('A', 5), item('B'), item('A', 7)]
  expect(identifyItems(present, wanted).map(({ id }) => id)).toEqual(present.map(({ id }) => id))
})

test.each([
  ['one removed', ['A', 'C'], [0, 2]],
  ['one added at the end', ['A', 'B', 'C', 'D'], [0, 1, 2]],
  ['one removed and one added', ['B', 'C', 'D'], [1, 2]],
  ['one put in between', ['A', 'D', 'B', 'C'], [0]],
  ['none left', ['D'], []],
])('with %s the others keep their ids', (_, skus, kept) => {
  const present = itemsOf('A', 'B', 'C')
  const items = identifyItems(
    present,
    skus.map((sku) => item(sku)),
  )
  expect(items.slice(0, kept.length).map(({ id }) => id)).toEqual(kept.map((index) => present[index]?.id))
  for (const { id } of items.slice(kept.length)) expect(present.map((each) => each.id)).not.toContain(id)
})

test('where a faster clock has given out the ids that are there, all are new rather than out of order', () => {
  const fromTheFuture = `itm_f${newItemId().slice(5)}`
  const items = identifyItems([{ ...item('A'), id: fromTheFuture }], [item('A'), item('B')])
  expect(items.map(({ id }) => id)).toEqual(items.map(({ id }) => id).toSorted())
  expect(items.map(({ sku }) => sku)).toEqual(['A', 'B'])
})
