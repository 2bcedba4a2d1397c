// npm run load:ci: the short scenarios on installations of this machine, and planted faults that they must find; the last line is
// `N passed, N failed`.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Finding } from '../lib/finding.ts'
import type { ScenarioName } from './local-plans.ts'
import type { PlantName } from './plants.ts'

type CiRun = {
  readonly name: ScenarioName
  readonly ratePerS?: number
  readonly durationS: number
  /** With the beginning of the claim that has to fail. */
  readonly planted?: { readonly plant: PlantName; readonly breaks: string }
}

/** Rates that a busy machine of two cores keeps up with; what they show does not depend on them. */
const runs: readonly CiRun[] = [
  { name: 'smoke', ratePerS: 10, durationS: 8 },
  { name: 'accuracy', ratePerS: 40, durationS: 15 },
  // So long, because five replicas are started while callers ask, and that takes a machine with other work some time.
  { name: 'accuracy-scaling', ratePerS: 40, durationS: 60 },
  { name: 'retry-after', durationS: 12 },
  { name: 'smoke', ratePerS: 10, durationS: 6, planted: { plant: 'bare-refusals', breaks: 'refusals_explained' } },
  { name: 'accuracy', ratePerS: 40, durationS: 12, planted: { plant: 'own-buckets', breaks: 'in all:' } },
  {
    name: 'retry-after',
    durationS: 12,
    planted: { plant: 'early-retry-after', breaks: 'admitted_after_waiting' },
  },
]

/** What fails when the machine has no time for the run: nothing is known then, so such a run is made once more. */
const ABOUT_THE_MACHINE = ['k6 offered', 'faults were made while', 'at least 5 limiters', 'every question was recorded']

type Outcome = { readonly code: number; readonly failures: readonly Finding[] }

const runOnce = async ({ name, ratePerS, durationS, planted }: CiRun): Promise<Outcome> => {
  const out = await mkdtemp(join(tmpdir(), 'weir-load-ci-'))
  try {
    const options = planted === undefined ? [] : ['--plant', planted.plant]
    const child = spawn(process.execPath, [fileURLToPath(new URL('main.ts', import.meta.url)), name, ...options], {
      stdio: ['ignore', 'inherit', 'inherit'],
      env: {
        ...process.env,
        OUT: out,
        DURATION_S: `${durationS}`,
        ...(ratePerS !== undefined && { RATE: `${ratePerS}` }),
      },
    })
    const code = await new Promise<number>((resolve) => child.once('exit', (status) => resolve(status ?? 1)))
    const { findings } = JSON.parse(await readFile(join(out, `${name}.json`), 'utf8'))
    return { code, failures: (findings as readonly Finding[]).filter(({ outcome }) => outcome === 'fails') }
  } catch (error) {
    process.stderr.write(`${String(error)}\n`)
    return { code: 1, failures: [] }
  } finally {
    await rm(out, { recursive: true, force: true })
  }
}

const isOnlyTheMachine = ({ failures }: Outcome) =>
  failures.length > 0 &&
  failures.every(({ claim }) => ABOUT_THE_MACHINE.some((beginning) => claim.startsWith(beginning)))

const isAsExpected = ({ planted }: CiRun, { code, failures }: Outcome) =>
  planted === undefined ? code === 0 : code !== 0 && failures.some(({ claim }) => claim.startsWith(planted.breaks))

const results: { readonly label: string; readonly ok: boolean }[] = []
for (const one of runs) {
  const label = `${one.name}${one.planted === undefined ? '' : `, with ${one.planted.plant} planted, fails`}`
  process.stdout.write(`\n── ${label}\n`)
  let outcome = await runOnce(one)
  if (!isAsExpected(one, outcome) && (isOnlyTheMachine(outcome) || one.planted !== undefined)) {
    process.stdout.write('\nThe machine was too busy for this run: once more.\n')
    outcome = await runOnce(one)
  }
  results.push({ label, ok: isAsExpected(one, outcome) })
}
process.stdout.write(`\n${results.map(({ label, ok }) => `${ok ? 'ok  ' : 'FAIL'}  ${label}\n`).join('')}`)
const failed = results.filter(({ ok }) => !ok).length
process.stdout.write(`\n${results.length - failed} passed, ${failed} failed\n`)
process.exitCode = failed === 0 ? 0 : 1
