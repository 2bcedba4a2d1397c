import { spawn } from 'node:child_process'
import { cp, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { mutants } from './mutants.fixture.ts'
import { runSchedule } from './schedule.ts'

const services = join(import.meta.dirname, '../..')

const simulate = (folder: string, count: number, firstSeed: number) =>
  new Promise<{ readonly code: number; readonly output: string }>((resolve) => {
    const program = join(folder, 'limiter/simulate.ts')
    const child = spawn(process.execPath, [program, String(count), String(firstSeed)], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    let output = ''
    child.stdout.on('data', (chunk) => {
      output += String(chunk)
    })
    child.once('exit', (code) => resolve({ code: code ?? 1, output }))
  })

test('20,000 schedules of faults break no promise', { timeout: 900_000 }, async () => {
  const halves = await Promise.all([simulate(services, 10_000, 1), simulate(services, 10_000, 10_001)])
  for (const { output } of halves) process.stdout.write(output)
  for (const { code, output } of halves) expect(code, output).toBe(0)
})

test('a seed always gives the same schedule', async () => {
  for (let seed = 1; seed <= 50; seed += 1)
    expect((await runSchedule(seed)).traceHash, `seed ${seed}`).toBe((await runSchedule(seed)).traceHash)
})

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
