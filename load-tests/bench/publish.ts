// Puts what runs of the bench have found into the README, as tables and a chart:   node load-tests/bench/publish.ts FILE …
// Each FILE is what `npm run bench -- --json FILE` wrote; of what several measured the later one counts. Without a FILE: what is there, anew.
import { readFile, writeFile } from 'node:fs/promises'
import { drawChart } from './chart.ts'
import { mergeResults } from './merge.ts'
import { withResults } from './page.ts'
import type { Results } from './results.ts'

const place = (name: string) => new URL(`../${name}`, import.meta.url)
const files = process.argv.slice(2)
const read = async (file: string | URL): Promise<Results> => JSON.parse(await readFile(file, 'utf8'))
const results = mergeResults(await Promise.all((files.length === 0 ? [place('bench.json')] : files).map(read)))
await writeFile(place('bench.json'), `${JSON.stringify(results, undefined, 2)}\n`)
await writeFile(place('bench.svg'), drawChart(results))
await writeFile(place('README.md'), withResults(await readFile(place('README.md'), 'utf8'), results))
