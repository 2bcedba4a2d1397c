import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mutants } from './mutants.fixture.ts'
import { services, simulate } from './simulate.fixture.ts'

describe('a planted bug is found', () => {
  test.concurrent.each(mutants)('$name', { timeout: 300_000 }, async ({ file, find, put }) => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-mutant-'))
    try {
      await cp(services, folder, { recursive: true, filter: (path) => !/node_modules|\/api(\/|$)/.test(path) })
      await writeFile(join(folder, 'package.json'), '{"type":"module"}')
      const path = join(folder, 'limiter', file)
      const source = await readFile(path, 'utf8')
      expect(source.split(find), `${file} holds this once: ${find}`).toHaveLength(2)
      await writeFile(path, source.replace(find, put))
      const { code, output } = await simulate(folder, 500, 1)
      expect(output).toMatch(/seed \d+: |more than \S+ % on average/)
      expect(code, output).toBe(1)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})
