// npm run load -- NAME: runs load-tests/NAME.ts by k6, against BASE_URL or an installation that it starts and stops.
import { spawn } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { freePort } from '../../services/platform/service.fixture.ts'
import { installSystemPackages } from '../../services/system-packages.ts'
import { startControl } from './control.ts'
import { localSurroundings } from './faults-local.ts'
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

type Run = { readonly name: ScenarioName; readonly plant: Plant; readonly k6: string }

const run = async ({ name, plant, k6 }: Run): Promise<number> => {
  await using stack = new AsyncDisposableStack()
  const given = process.env['BASE_URL']
  if (given !== undefined) return runK6(k6, name, {})
  const packages = installSystemPackages()
  if (!packages.ok) throw new Error(packages.message)
  const installation = stack.use(await startLocalInstallation(localPlans[name], plant))
  const control = stack.use(await startControl(localSurroundings(installation)))
  return await runK6(k6, name, {
    BASE_URL: installation.url,
    API_KEY: installation.keys[0] ?? '',
    API_KEYS: installation.keys.join(','),
    LIMITER_ADDRESS: installation.replicas
      .limiterPorts()
      .map((port) => `127.0.0.1:${port}`)
      .join(','),
    CONTROL_URL: control.url,
  })
}

const runK6 = async (k6: string, name: ScenarioName, environment: Readonly<Record<string, string>>) => {
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

const main = async (): Promise<number> => {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { plant: { type: 'string' }, faults: { type: 'string' } },
  })
  const [name = ''] = positionals
  if (!isScenarioName(name) || (values.plant !== undefined && !isPlantName(values.plant))) {
    process.stderr.write(usage())
    return 2
  }
  const k6 = findK6()
  if (!k6.ok) {
    process.stderr.write(`${k6.message}\n`)
    return 1
  }
  return run({ name, plant: values.plant === undefined ? noPlant : plants[values.plant], k6: k6.path })
}

process.exitCode = await main()
