// What envoyproxy/ratelimit shows its users is imported, all of it.
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { importConfig } from '../policies/import-envoy/import-config.ts'
import { parsePolicies } from '../policies/parse.ts'
import { formatProblem } from '../policies/problem.ts'
import { ratelimitSources } from './differential.fixture.ts'

const problemsOf = (name: string, text: string, shadow: boolean) => {
  const imported = importConfig([{ name, text }], { shadow })
  if (!imported.ok) return imported.problems.map(formatProblem)
  const parsed = parsePolicies(imported.files.map((file) => ({ name, text: file.text })))
  return parsed.ok ? [] : parsed.problems.map(formatProblem)
}

test('every configuration in its README and in its examples becomes policies', async () => {
  const sources = await ratelimitSources()
  const readme = readFileSync(join(sources, 'README.md'), 'utf8')
  const shown = [...readme.matchAll(/```yaml\n(?<text>domain: \w[^`]*)```/g)].map(
    ({ groups }, index) => [`README ${index}`, groups?.['text'] ?? ''] as const,
  )
  const files = globSync('examples/ratelimit/config/*.yaml', { cwd: sources }).map(
    (name) => [name, readFileSync(join(sources, name), 'utf8')] as const,
  )
  expect(shown.length).toBeGreaterThanOrEqual(14)
  expect(files.length).toBeGreaterThanOrEqual(2)
  for (const [name, text] of [...shown, ...files])
    for (const shadow of [false, true]) expect(problemsOf(name, text, shadow), `${name}\n${text}`).toEqual([])
}, 120_000)
