import { readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { drawChart } from './chart.ts'
import { withResults } from './page.ts'
import type { Results } from './results.ts'

const place = (name: string) => new URL(`../${name}`, import.meta.url)
const results: Results = JSON.parse(await readFile(place('bench.json'), 'utf8'))
const readme = await readFile(place('README.md'), 'utf8')

test('the README’s tables and chart are what bench.json says', async () => {
  expect(withResults(readme, results)).toBe(readme)
  expect(drawChart(results)).toBe(await readFile(place('bench.svg'), 'utf8'))
})

test('a README without a place for them is refused rather than changed', () => {
  expect(() => withResults('# Load tests\n', results)).toThrow(/no place/)
})
