// A migration's first step: the old service decides, and Weir beside it rehearses.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort, startService } from '../../platform/service.fixture.ts'
import { importConfig } from '../policies/import-envoy/import-config.ts'
import { startRedis } from '../redis/redis-server.fixture.ts'
import { buildRatelimit, startRatelimit } from './differential.fixture.ts'
import { exampleFolder, installEnvoy, startEnvoy } from './envoy-process.fixture.ts'

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const config = readFileSync(join(exampleFolder, 'ratelimit', 'config.yaml'), 'utf8')

/** The filter and the cluster of the example once more, for the old service. */
const beside = (oldPort: number) => (configuration: string) => {
  const filterStart = configuration.indexOf('                  - name: envoy.filters.http.ratelimit')
  const filterEnd = configuration.indexOf('                  - name: envoy.filters.http.router')
  const filter = configuration.slice(filterStart, filterEnd)
  const clusterStart = configuration.indexOf('    - name: weir')
  const clusterEnd = configuration.indexOf('    - name: upstream')
  const cluster = configuration.slice(clusterStart, clusterEnd)
  const old = filter.replace('cluster_name: weir', 'cluster_name: ratelimit')
  const rehearsing = filter.replace('name: envoy.filters.http.ratelimit', 'name: weir.rehearsal')
  const oldCluster = cluster.replaceAll('weir', 'ratelimit').replace(/port_value: \d+/, `port_value: ${oldPort}`)
  return [
    configuration.slice(0, filterStart),
    // First: who is refused here never reaches the filter after it.
    rehearsing,
    old,
    configuration.slice(filterEnd, clusterEnd),
    oldCluster,
    configuration.slice(clusterEnd),
  ].join('')
}

test('Weir in shadow beside envoyproxy/ratelimit refuses nobody, and counts what it would refuse', async () => {
  const [envoyProgram, ratelimitProgram] = [await installEnvoy(), await buildRatelimit()]
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-beside-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const imported = importConfig([{ name: 'config.yaml', text: config }], { shadow: true })
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, imported.ok ? (imported.files[0]?.text ?? '') : '')
  const redis = stack.use(await startRedis())
  // The old service allows more, so that every refusal by Weir would be seen.
  const generous = config.replace('requests_per_unit: 20 ', 'requests_per_unit: 50 ')
  const ratelimit = stack.use(await startRatelimit(ratelimitProgram, generous, redis.port))
  const [port, adminPort] = [await freePort(), await freePort()]
  const started = await startService(main, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_STORE: `redis://127.0.0.1:${redis.port}`,
    LIMITER_STORE_DEADLINE_MS: '10000',
    LIMITER_POLICIES: policies,
    LOG_LEVEL: 'error',
  })
  if (!started.ok) throw new Error(started.output)
  stack.use(started.service)
  await using envoy = await startEnvoy({ program: envoyProgram, limiters: [port], change: beside(ratelimit.port) })

  const passed = []
  for (let turn = 0; turn < 45; turn += 1) passed.push((await envoy.get('/', { 'x-api-key': 'a' })).status)
  expect(passed).toEqual(Array(45).fill(200))
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text()
  const verdicts = (verdict: string) =>
    Number(
      metrics
        .split('\n')
        .find((line) => line.startsWith('weir_shadow_verdicts_total{') && line.includes(`verdict="${verdict}"`))
        ?.split(' ')
        .at(-1) ?? 0,
    )
  console.info(`45 requests: Weir would have let ${verdicts('allow')} pass and refused ${verdicts('deny')}`)
  expect(verdicts('allow')).toBeGreaterThanOrEqual(20)
  expect(verdicts('deny')).toBeGreaterThan(0)
  expect(verdicts('allow') + verdicts('deny')).toBe(45)
}, 600_000)
