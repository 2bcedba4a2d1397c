import { expect, test } from 'vitest'
import { roundOf } from './round.ts'

test('entries come one after the other, round and round', () => {
  const next = roundOf(
    new Map([
      ['a', 1],
      ['b', 2],
    ]),
  )
  expect([next(), next(), next()]).toEqual([
    ['a', 1],
    ['b', 2],
    ['a', 1],
  ])
})

test('what was deleted does not come, what was added does, and of an empty map nothing comes', () => {
  const map = new Map<string, number>()
  const next = roundOf(map)
  expect(next()).toBeUndefined()
  for (const key of ['a', 'b', 'c']) map.set(key, 0)
  expect(next()?.[0]).toBe('a')
  map.delete('b')
  map.set('d', 0)
  expect([next()?.[0], next()?.[0], next()?.[0]]).toEqual(['c', 'd', 'a'])
})

test('where each is deleted as it comes, the oldest comes next', () => {
  const map = new Map(Array.from({ length: 10 }, (_, index) => [index, index]))
  const oldest = roundOf(map)
  for (let index = 0; index < 1_000; index += 1) {
    const [key] = oldest() ?? []
    expect(key).toBe(index)
    if (key !== undefined) map.delete(key)
    map.set(index + 10, 0)
  }
})
