import { expect, test } from 'vitest'
import { changesOf, noChanges } from './changes.ts'
import { parsePolicies } from './parse.ts'

const sets = (...texts: readonly string[]) => {
  const parsed = parsePolicies(texts.map((text, index) => ({ name: `${index}.yaml`, text })))
  return parsed.ok ? parsed.sets : expect.fail(JSON.stringify(parsed.problems))
}

const api = (rest: string, subject = 'client') => `domain: api\nsubject: ${subject}\npolicies:\n${rest}`
const free = '  - { name: free, capacity: 60, refill: 5/s }\n'
const pro = '  - { name: pro, capacity: 600, refill: 50/s }\n'

test('the first policies are all added, and the same ones again are no change', () => {
  expect(changesOf(new Map(), sets(api(free + pro)))).toEqual({ ...noChanges, added: ['api/free', 'api/pro'] })
  expect(changesOf(sets(api(free + pro)), sets(api(free + pro)))).toEqual(noChanges)
})

test('a policy that came, one that went and one with other numbers are told apart', () => {
  const before = sets(api(free + pro))
  expect(
    changesOf(before, sets(api(`${free.replace('60', '61')}  - { name: new, capacity: 1, refill: 1/s }\n`))),
  ).toEqual({
    added: ['api/new'],
    changed: ['api/free'],
    removed: ['api/pro'],
  })
})

test('an override changes the policy that it is of, another subject every policy of its domain', () => {
  const before = sets(api(free + pro), `domain: shop\nsubject: client\npolicies:\n${free}`)
  const override = 'overrides: [{ policy: free, client: a, capacity: 9 }]\n'
  expect(changesOf(sets(api(free + pro)), sets(api(free + pro + override)))).toEqual({
    ...noChanges,
    changed: ['api/free'],
  })
  expect(
    changesOf(before, sets(api(free + pro, 'tenant'), `domain: shop\nsubject: client\npolicies:\n${free}`)),
  ).toEqual({ ...noChanges, changed: ['api/free', 'api/pro'] })
})
