import fc from 'fast-check'
import { expect, test } from 'vitest'
import { closest } from './closest.ts'

const fields = ['name', 'match', 'by', 'capacity', 'refill', 'onStoreFailure', 'mode', 'exempt']

test.for([
  ['refil', 'refill'],
  ['capactiy', 'capacity'],
  ['Refill', 'refill'],
  ['on_store_failure', 'onStoreFailure'],
  ['on-store-falure', 'onStoreFailure'],
  ['nmae', 'name'],
  ['xname', 'name'],
] as const)('%s was meant to be %s', ([typed, meant]) => {
  expect(closest(typed, fields)).toBe(meant)
})

test.for(['weight', 'burst', 'rate', 'constructor', ''])('%s is like none of them', (typed) => {
  expect(closest(typed, fields)).toBeUndefined()
})

test('of several that are near, the nearest is meant', () => {
  expect(closest('client', ['clients', 'client', 'klient'])).toBe('client')
  expect(closest('pro-user', ['pra-usex', 'prx-user'])).toBe('prx-user')
})

test('one slip in a word of four letters or more is always understood', () => {
  const word = fc.stringMatching(/^[a-z]{4,12}$/)
  fc.assert(
    fc.property(word, fc.nat(), fc.constantFrom('drop', 'swap', 'add'), (meant, place, slip) => {
      const at = place % (meant.length - 1)
      const [a = '', b = ''] = meant.slice(at)
      const replaced = { drop: b, swap: b + a, add: `${a}q${b}` }[slip]
      expect(closest(meant.slice(0, at) + replaced + meant.slice(at + 2), [meant])).toBe(meant)
    }),
  )
})
