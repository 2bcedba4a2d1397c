// npm test: type check, lint and every test; the last line is `N passed, N failed`. Arguments go to vitest.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
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

const ALONE = ['--no-file-parallelism', '--maxWorkers=1']

/**
 * On a machine that is busy with other things tests that run beside others may starve. What failed is run once more, alone, and
 * counts as it ends then; what passed only alone is named.
 */
const runTests = async (filters: readonly string[]): Promise<Count> => {
  process.stdout.write('\n── tests\n')
  const { files, ...first } = await runFiles(filters)
  if (first.failed === 0 || files.length === 0) return first
  process.stdout.write(`\n── once more, alone: ${files.join(', ')}\n`)
  const options = filters.filter((filter) => filter.startsWith('--') || filter === 'e2e')
  const again = await runFiles([...options, ...files, ...ALONE])
  if (again.failed === 0) process.stdout.write(`\npassed only alone: ${files.join(', ')}\n`)
  const { passedElsewhere } = first
  return { passed: passedElsewhere + again.passed, failed: again.failed }
}

type FilesRun = Count & {
  /** Those with a failure. */
  readonly files: readonly string[]
  /** Tests that passed in the other files. */
  readonly passedElsewhere: number
}

type Report = {
  readonly numPassedTests: number
  readonly numTotalTests: number
  readonly testResults: readonly {
    readonly name: string
    readonly status: string
    readonly assertionResults: readonly { readonly status: string }[]
  }[]
}

const runFiles = async (filters: readonly string[]): Promise<FilesRun> => {
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
    const { numPassedTests, numTotalTests, testResults }: Report = JSON.parse(await readFile(report, 'utf8'))
    const [sound, unsound] = [
      testResults.filter(({ status }) => status === 'passed'),
      testResults.filter(({ status }) => status !== 'passed'),
    ]
    const passedElsewhere = sound
      .flatMap(({ assertionResults }) => assertionResults)
      .filter(({ status }) => status === 'passed').length
    const files = unsound.map(({ name }) => relative(root, name))
    // A test that did not run has not passed; neither has a run that failed outside its tests.
    const failed = numTotalTests - numPassedTests
    return { passed: numPassedTests, failed: code === 0 ? failed : Math.max(failed, 1), files, passedElsewhere }
  } catch (error) {
    process.stderr.write(`the test run left no report: ${String(error)}\n`)
    return { passed: 0, failed: 1, files: [], passedElsewhere: 0 }
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
    await check('types of the console', binary('tsc'), '--project', 'services/limiter/console/page'),
    await check('lint', binary('biome'), 'check', '--error-on-warnings'),
    await runTests(filters),
  ]
}

const counts = await verify(process.argv.slice(2))
const passed = counts.reduce((sum, count) => sum + count.passed, 0)
const failed = counts.reduce((sum, count) => sum + count.failed, 0)
process.stdout.write(`\n${passed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
