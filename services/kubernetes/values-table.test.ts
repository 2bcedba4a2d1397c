import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { copiedFiles } from './copied-files.ts'
import { formatValues, readValues } from './values-table.ts'

const read = (name: string) => readFileSync(fileURLToPath(new URL(`../../helm/weir/${name}`, import.meta.url)), 'utf8')
const values = readValues(read('values.yaml'))

test('a value is named by its path, with the comment above it and its default', () => {
  const text = `
# What a is.
a: 1
b:
  # What c is,
  # in two lines.
  c: [x]
  # About d.
  d: ""
`
  expect(readValues(text)).toEqual([
    { path: 'a', description: 'What a is.', fallback: '`1`' },
    { path: 'b.c', description: 'What c is, in two lines.', fallback: '`[ x ]`' },
    { path: 'b.d', description: 'About d.', fallback: '`""`' },
  ])
})

test("the README's table is what values.yaml says (npm run chart writes it)", () => {
  expect(read('README.md')).toContain(formatValues(values))
})

test('every value says what it is', () => {
  expect(values.filter(({ description }) => description === '').map(({ path }) => path)).toEqual([])
})

test.each(copiedFiles)('the chart has %s as it is (npm run chart copies it)', (from, to) => {
  expect(readFileSync(new URL(`../../${to}`, import.meta.url), 'utf8')).toBe(
    readFileSync(new URL(`../../${from}`, import.meta.url), 'utf8'),
  )
})

test('the schema knows every value, and nothing that is no value', () => {
  const paths = values.map(({ path }) => path)
  const known = schemaPaths(JSON.parse(read('values.schema.json')))
  expect(known.filter((path) => !paths.some((other) => covers(path, other) || covers(other, path)))).toEqual([])
  expect(paths.filter((path) => !known.some((other) => covers(path, other) || covers(other, path)))).toEqual([])
})

type Schema = { readonly properties?: Readonly<Record<string, Schema>> }

const schemaPaths = ({ properties = {} }: Schema, parent = ''): readonly string[] =>
  Object.entries(properties).flatMap(([name, schema]) => {
    const path = parent === '' ? name : `${parent}.${name}`
    if (path === 'global') return []
    return schema.properties === undefined ? [path] : schemaPaths(schema, path)
  })

const covers = (path: string, other: string) => other === path || other.startsWith(`${path}.`)
