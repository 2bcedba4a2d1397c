import { expect, test } from 'vitest'
import { createNamedMap } from './named-map.ts'

test('has room for so many entries, and for so many characters of their keys', () => {
  const map = createNamedMap<string, number>(3, 10)
  map.set('aaaa', 1)
  map.set('aaaa', 2)
  map.set('bbbb', 3)
  expect(map.hasRoom()).toBe(true)
  map.set('cc', 4)
  expect(map.hasRoom()).toBe(false)
  expect([map.delete('bbbb'), map.delete('bbbb')]).toEqual([true, false])
  expect(map.hasRoom()).toBe(true)
  map.set('d'.repeat(100), 5)
  expect(map.hasRoom()).toBe(false)
  for (const key of ['aaaa', 'cc', 'd'.repeat(100)]) map.delete(key)
  expect(map.hasRoom()).toBe(true)
})
