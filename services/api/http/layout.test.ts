import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonLayout, LONGEST_ARRAY, type Place } from './layout.ts'

/** A value written by hand, with the spaces that JSON allows, and the texts of its members by their paths. */
const spaced = (value: unknown, spaces: string): string => {
  if (Array.isArray(value)) return `[${spaces}${value.map((item) => spaced(item, spaces)).join(`${spaces},`)}${spaces}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(
    ([name, member]) => `${JSON.stringify(name)}${spaces}:${spaces}${spaced(member, spaces)}`,
  )
  return `{${spaces}${members.join(`,${spaces}`)}${spaces}}`
}

const expectToMatch = (place: Place, value: unknown, text: string) => {
  const entries = Array.isArray(value)
    ? value.map((item, index): [string, unknown] => [String(index), item])
    : typeof value === 'object' && value !== null
      ? Object.entries(value)
      : []
  expect([...place.members.keys()].toSorted()).toEqual(entries.map(([name]) => name).toSorted())
  for (const [name, member] of entries) {
    const inner = place.members.get(name)
    if (inner === undefined) throw new Error(`no place for ${name}`)
    if (!Array.isArray(value)) expect(text.slice(inner.start).startsWith(JSON.stringify(name))).toBe(true)
    expect(inner.end).toBeLessThanOrEqual(place.end)
    expectToMatch(inner, member, text)
  }
}

test('every member of a text has its place, in the order of the text, and nothing is called repeated', () => {
  fc.assert(
    fc.property(
      fc.jsonValue({ maxDepth: 5, noUnicodeString: false }),
      fc.constantFrom('', ' ', '\n\t '),
      (value, spaces) => {
        const parsed: unknown = JSON.parse(JSON.stringify(value))
        const text = spaced(parsed, spaces)
        const { root, repeated } = jsonLayout(text)
        expectToMatch(root, parsed, text)
        expect(repeated).toEqual([])
        const starts = [...root.members.values()].map(({ start }) => start)
        expect(starts).toEqual(starts.toSorted((a, b) => a - b))
      },
    ),
  )
})

test.each([
  ['{"a":1,"a":2}', [['a']]],
  ['{"a":1,"\\u0061":2}', [['a']]],
  ['{"a":{"b":1},"c":{"b":1}}', []],
  ['{"a":[{"b":1,"c":"}","b":2},{"b":1}],"a":0}', [['a', '0', 'b'], ['a']]],
  ['{"":1,"":2}', [['']]],
  ['{"__proto__":1,"__proto__":2}', [['__proto__']]],
  ['[{"a\\"b":"[","a\\"b":"]"}]', [['0', 'a"b']]],
])('%s repeats %j', (text, paths) => {
  expect(jsonLayout(text).repeated.map(({ path }) => path)).toEqual(paths)
})

test('of an array that is longer than any may be the rest is passed over, and what comes after it has its place', () => {
  const entries = Array.from({ length: LONGEST_ARRAY + 500 }, () => '{"b":[1],"b":"]"}')
  const text = `{"a":[${entries.join()}],"c":1}`
  const { root, repeated } = jsonLayout(text)
  expect(root.members.get('a')?.members.size).toBe(LONGEST_ARRAY)
  expect(repeated).toHaveLength(LONGEST_ARRAY)
  expect(root.members.get('c')?.start).toBe(text.indexOf('"c"'))
})

test.each([
  ['arrays', '['.repeat(100_000) + ']'.repeat(100_000)],
  ['objects', `${'{"a":'.repeat(40_000)}1${'}'.repeat(40_000)}`],
  ['names', `{${Array.from({ length: 20_000 }, (_, index) => `"${index}":0`).join()}}`],
  [
    'long names above short ones',
    `{"${'x'.repeat(100_000)}":{${Array.from({ length: 10_000 }, (_, index) => `"${index}":0`).join()}}}`,
  ],
  ['a long string', JSON.stringify({ a: '\\"'.repeat(60_000) })],
])('a body full of %s is read in one go', (_, text) => {
  JSON.parse(text)
  const before = performance.now()
  expect(jsonLayout(text).repeated).toEqual([])
  // Milliseconds, however slow the machine is; the square of its length would be minutes.
  expect(performance.now() - before).toBeLessThan(10_000)
})
