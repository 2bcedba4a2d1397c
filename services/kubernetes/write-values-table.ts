// npm run chart-docs: writes the table of values in helm/weir/README.md from values.yaml.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { formatValues, readValues } from './values-table.ts'

const at = (name: string) => fileURLToPath(new URL(`../../helm/weir/${name}`, import.meta.url))

const table = formatValues(readValues(readFileSync(at('values.yaml'), 'utf8')))
const readme = readFileSync(at('README.md'), 'utf8')
const written = readme.replace(
  /(<!-- values -->\n)[\s\S]*?(<!-- end of values -->)/,
  (_, begin, end) => `${begin}${table}${end}`,
)
writeFileSync(at('README.md'), written)
