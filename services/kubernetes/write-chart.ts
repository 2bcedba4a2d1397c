// npm run chart: writes what the chart has from elsewhere: the table of values in its README from values.yaml, and the rules and
// dashboards of deploy/, because a chart cannot reach beyond its folder.
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { copiedFiles } from './copied-files.ts'
import { formatValues, readValues } from './values-table.ts'

const at = (name: string) => fileURLToPath(new URL(`../../${name}`, import.meta.url))

const table = formatValues(readValues(readFileSync(at('helm/weir/values.yaml'), 'utf8')))
const readme = readFileSync(at('helm/weir/README.md'), 'utf8')
const written = readme.replace(
  /(<!-- values -->\n)[\s\S]*?(<!-- end of values -->)/,
  (_, begin, end) => `${begin}${table}${end}`,
)
writeFileSync(at('helm/weir/README.md'), written)
for (const [from, to] of copiedFiles) copyFileSync(at(from), at(to))
