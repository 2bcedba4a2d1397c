import { expect, test } from 'vitest'
import { attributesOf } from './descriptor.ts'

const attributes = (...entries: readonly (readonly [string, string])[]) => [
  ...attributesOf(entries.map(([key, value]) => ({ key, value }))),
]

test('entries are attributes, and the keys in their order one more', () => {
  expect(attributes(['message_type', 'marketing'], ['to_number', '2061'])).toEqual([
    ['message_type', 'marketing'],
    ['to_number', '2061'],
    ['descriptor', 'message_type,to_number'],
  ])
})

test('a key that comes again keeps both values', () => {
  expect(attributes(['generic_key', 'a'], ['generic_key', 'b'])).toEqual([
    ['generic_key', 'a'],
    ['generic_key#2', 'b'],
    ['descriptor', 'generic_key,generic_key'],
  ])
})

test('no two lists of keys have one shape', () => {
  const shapes = [['a,b'], ['a', 'b'], ['a%2cb'], ['a%', '2cb']].map((keys) =>
    attributesOf(keys.map((key) => ({ key, value: '' }))).get('descriptor'),
  )
  expect(new Set(shapes).size).toBe(4)
})
