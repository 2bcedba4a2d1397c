import { cp, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { mutants } from './mutants.fixture.ts'
import { services, simulate } from './simulate.fixture.ts'

const SCHEDULES = 2_000

/** A copy of what the simulation runs, with what it needs from beside it. */
const copyServices = async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-mutant-'))
  const isNeeded = (path: string) => !/\/services\/(?:api|kubernetes)(?:\/|$)/.test(path)
  await cp(services, join(folder, 'services'), { recursive: true, filter: isNeeded })
  for (const name of ['node_modules', 'proto']) await symlink(join(services, '..', name), join(folder, name))
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  return {
    services: join(folder, 'services'),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

describe('a planted bug is found', () => {
  const table: string[] = []
  afterAll(() => void process.stdout.write(`${table.join('\n')}\n`))

  test.each(mutants)('$name', { timeout: 600_000 }, async ({ name, file, find, put }) => {
    await using copy = await copyServices()
    const path = join(copy.services, file)
    const source = await readFile(path, 'utf8')
    expect(source.split(find), `${file} holds this once: ${find}`).toHaveLength(2)
    await writeFile(
      path,
      source.replace(find, () => put),
    )
    const { code, output } = await simulate(copy.services, SCHEDULES, 1)
    const found = output.match(/seed \d+: [^;\n]+|that is more than \S+ % on average/)?.[0]
    table.push(`| ${name} | ${found ?? 'NOT FOUND'} |`)
    expect(found).toBeDefined()
    expect(code, output).toBe(1)
  })
})
