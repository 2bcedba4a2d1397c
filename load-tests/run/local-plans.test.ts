import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { localPlans } from './local-plans.ts'
import { plants } from './plants.ts'

const read = (path: string) => readFileSync(fileURLToPath(new URL(`../${path}`, import.meta.url)), 'utf8')

/** The first table: scenario, question, plants. */
const [beginning = ''] = read('README.md').split('### Your installation')
const rows = [...beginning.matchAll(/^\| `([a-z-]+)` \| [^|]+ \| ([^|]+) \|$/gm)].map(([, name = '', found = '']) => ({
  name,
  plants: [...found.matchAll(/`([a-z-]+)`/g)].map(([, plant = '']) => plant),
}))

test.each(Object.keys(localPlans))('%s opens with its question, and lets callers arrive at a rate', (name) => {
  const text = read(`${name}.ts`)
  expect(text.split('\n')[0]).toMatch(new RegExp(`^// ${name}: .*\\?$`))
  expect(text).toMatch(/steady\(|-arrival-rate'/)
})

test('the table of the README has each scenario, each with a plant that makes it red, and each plant', () => {
  expect(rows.map(({ name }) => name).toSorted()).toEqual(Object.keys(localPlans).toSorted())
  expect(rows.filter((row) => row.plants.length === 0)).toEqual([])
  expect([...new Set(rows.flatMap((row) => row.plants))].toSorted()).toEqual(Object.keys(plants).toSorted())
})
