// npm run load -- NAME: runs load-tests/NAME.ts by k6, against BASE_URL or an installation that it starts and stops.
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../../services/platform/service.fixture.ts'
import { installSystemPackages } from '../../services/system-packages.ts'
import { startControl } from './control.ts'
import { kubectlSurroundings } from './faults-kubectl.ts'
import { localSurroundings } from './faults-local.ts'
import { manualSurroundings } from './faults-manual.ts'
import { findK6 } from './find-k6.ts'
import { startLocalInstallation } from './local-installation.ts'
import { isScenarioName, localPlans, type ScenarioName } from './local-plans.ts'
import { isPlantName, noPlant, type Plant, plants } from './plants.ts'

const results = fileURLToPath(new URL('../../.cache/load-tests', import.meta.url))

const usage = () => `usage: npm run load -- NAME [--plant FAULT] [--faults local|kubectl|manual]

${Object.entries(localPlans)
  .map(([name, { question }]) => `  ${name.padEnd(18)} ${question}`)
  .join('\n')}

BASE_URL and API_KEY: an installation that is there already; without them one is started here.
--plant: a fault that the run must find, in an installation that is started here:
${Object.entries(plants)
  .map(([name, { does }]) => `  ${name.padEnd(18)} ${does}`)
  .join('\n')}
`

type Run = { readonly name: ScenarioName; readonly plant: Plant; readonly faults: string; readonly k6: string }

const run = async (options: Run): Promise<number> => {
  await using stack = new AsyncDisposableStack()
  const environment = await (process.env['BASE_URL'] === undefined ? startHere : useGiven)(options, stack)
  return await runK6(options.k6, options.name, environment)
}

type Environment = Readonly<Record<string, string>>

const startHere = async ({ name, plant, faults }: Run, stack: AsyncDisposableStack): Promise<Environment> => {
  const packages = installSystemPackages()
  if (!packages.ok) throw new Error(packages.message)
  const plan = localPlans[name]
  const installation = stack.use(await startLocalInstallation(plan, plant))
  const { pages, makeFault } = localSurroundings(installation)
  const pretend = () => Promise.reject(new Error('planted: the fault is not made'))
  const made = faults === 'manual' ? stack.use(manualSurroundings()).makeFault : makeFault
  const control = stack.use(await startControl({ pages, makeFault: plant.pretends === true ? pretend : made }))
  return {
    BASE_URL: installation.url,
    API_KEY: installation.keys[0] ?? '',
    API_KEYS: installation.keys.join(','),
    LIMITER_ADDRESS: installation.replicas
      .limiterPorts()
      .map((port) => `127.0.0.1:${port}`)
      .join(','),
    ATTRIBUTES: `client=user:${plan.clients[0].kind}-0`,
    CONTROL_URL: control.url,
  }
}

/** Somebody's installation: only faults and metrics that were asked for are of this program's making. */
const useGiven = async ({ faults }: Run, stack: AsyncDisposableStack): Promise<Environment> => {
  if (faults === 'kubectl') return { CONTROL_URL: stack.use(await startControl(kubectlSurroundings())).url }
  const control = stack.use(await startControl(stack.use(manualSurroundings())))
  return { FAULTS_URL: control.url }
}

const runK6 = async (k6: string, name: ScenarioName, environment: Environment) => {
  mkdirSync(results, { recursive: true })
  const script = fileURLToPath(new URL(`../${name}.ts`, import.meta.url))
  const address = `127.0.0.1:${await freePort()}`
  const child = spawn(k6, ['run', '--address', address, '--no-usage-report', script], {
    stdio: 'inherit',
    env: { OUT: results, ...process.env, ...environment, K6_ADDRESS: address },
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => child.kill(signal))
  return new Promise<number>((resolve) => {
    child.once('error', () => resolve(1))
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

const FAULTS = ['local', 'kubectl', 'manual'] as const

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { plant: { type: 'string' }, faults: { type: 'string' } },
  })
  const [name = ''] = positionals
  const faults = values.faults ?? (process.env['BASE_URL'] === undefined ? 'local' : 'manual')
  const isKnown = FAULTS.some((known) => known === faults)
  if (!isScenarioName(name) || !isKnown || (values.plant !== undefined && !isPlantName(values.plant))) {
    process.stderr.write(usage())
    return 2
  }
  const fault = faultOfOptions(faults, values.plant)
  if (fault !== undefined) {
    process.stderr.write(`${fault}\n`)
    return 2
  }
  const k6 = findK6()
  if (!k6.ok) {
    process.stderr.write(`${k6.message}\n`)
    return 1
  }
  const plant = values.plant === undefined ? noPlant : plants[values.plant]
  return run({ name, faults, plant, k6: k6.path })
}

const faultOfOptions = (faults: string, plant: string | undefined) => {
  const isGiven = process.env['BASE_URL'] !== undefined
  if (isGiven && plant !== undefined) return '--plant is for an installation that is started here: leave BASE_URL out.'
  if (isGiven && faults === 'local')
    return '--faults local is for an installation that is started here: kubectl or manual.'
  if (!isGiven && faults === 'kubectl') return '--faults kubectl needs BASE_URL, the address of the cluster.'
  return undefined
}

process.exitCode = await main()
