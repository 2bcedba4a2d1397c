// npm test: type check, lint and every test; the last line is `N passed, N failed`. Arguments go to vitest.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { installSystemPackages } from './system-packages.ts'

type Count = { readonly passed: number; readonly failed: number }

const root = fileURLToPath(new URL('..', import.meta.url))
const binary = (name: string) => join(root, 'node_modules', '.bin', name)

const run = (command: string, ...options: readonly string[]) =>
  new Promise<number>((resolve) => {
    const child = spawn(command, options, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] })
    child.once('error', () => resolve(1))
    child.once('exit', (code) => resolve(code ?? 1))
  })

const check = async (name: string, command: string, ...options: readonly string[]): Promise<Count> => {
  process.stdout.write(`\n── ${name}\n`)
  return (await run(command, ...options)) === 0 ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 }
}

const runTests = async (filters: readonly string[]): Promise<Count> => {
  process.stdout.write('\n── tests\n')
  const folder = await mkdtemp(join(tmpdir(), 'weir-test-'))
  const report = join(folder, 'report.json')
  try {
    const options = [
      '--config',
      'services/vitest.config.ts',
      '--reporter=default',
      '--reporter=json',
      `--outputFile=${report}`,
    ]
    const code = await run(binary('vitest'), 'run', ...options, ...filters)
    const { numPassedTests, numTotalTests } = JSON.parse(await readFile(report, 'utf8'))
    // A test that did not run has not passed; neither has a run that failed outside its tests.
    const failed = numTotalTests - numPassedTests
    return { passed: numPassedTests, failed: code === 0 ? failed : Math.max(failed, 1) }
  } catch (error) {
    process.stderr.write(`the test run left no report: ${String(error)}\n`)
    return { passed: 0, failed: 1 }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const verify = async (filters: readonly string[]) => {
  const packages = installSystemPackages(undefined, filters.includes('e2e') ? 'e2e' : 'test')
  if (!packages.ok) {
    process.stderr.write(`${packages.message}\n`)
    return [{ passed: 0, failed: 1 }]
  }
  return [
    await check('types', binary('tsc'), '--noEmit'),
    await check('lint', binary('biome'), 'check', '--error-on-warnings'),
    await runTests(filters),
  ]
}

const counts = await verify(process.argv.slice(2))
const passed = counts.reduce((sum, count) => sum + count.passed, 0)
const failed = counts.reduce((sum, count) => sum + count.failed, 0)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
