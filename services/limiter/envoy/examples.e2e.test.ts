// What lies in deploy/envoy is what the real Envoy takes, and what the importer writes.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { importConfig } from '../policies/import-envoy/import-config.ts'
import { example, exampleFolder, installEnvoy, validate } from './envoy-process.fixture.ts'

let program: string
beforeAll(async () => {
  program = await installEnvoy()
}, 300_000)

const read = (name: string) => readFileSync(join(exampleFolder, name), 'utf8')

type Parts = { readonly cluster: unknown; readonly filter: unknown; readonly rateLimits: unknown }

/** An Envoy with the parts that a mesh or a gateway would put into its own. */
const bootstrap = ({ cluster, filter, rateLimits }: Parts) => {
  const configuration = parse(example)
  const [weir, upstream] = configuration.static_resources.clusters
  const manager = configuration.static_resources.listeners[0].filter_chains[0].filters[0].typed_config
  manager.http_filters[0] = filter
  manager.route_config.virtual_hosts[0].rate_limits = rateLimits
  configuration.static_resources.clusters = [{ ...weir, ...(cluster as object) }, upstream]
  return stringify(configuration)
}

test('Envoy takes the example', async () => {
  expect(await validate(program, example)).toBe('')
}, 60_000)

test('Envoy takes what the EnvoyFilters of Istio add', async () => {
  const [first, second] = parseAllDocuments(read('istio.yaml')).map((document) => document.toJS())
  const [cluster, filter] = first.spec.configPatches.map((one: { patch: { value: unknown } }) => one.patch.value)
  const rateLimits = second.spec.configPatches[0].patch.value.rate_limits
  expect(rateLimits).toHaveLength(1)
  expect(await validate(program, bootstrap({ cluster, filter, rateLimits }))).toBe('')
}, 60_000)

test('Envoy takes what the EnvoyPatchPolicy of Envoy Gateway adds', async () => {
  const patches = parse(read('envoy-gateway.yaml')).spec.jsonPatches
  const [cluster, filter, rateLimits] = patches.map((one: { operation: { value: unknown } }) => one.operation.value)
  expect(rateLimits).toHaveLength(1)
  expect(await validate(program, bootstrap({ cluster, filter, rateLimits }))).toBe('')
}, 60_000)

test('a mistake in a part is one that Envoy would find', async () => {
  const filter = { name: 'envoy.filters.http.ratelimit', typed_config: { '@type': 'type.googleapis.com/nothing' } }
  expect(await validate(program, bootstrap({ cluster: {}, filter, rateLimits: [] }))).toContain('nothing')
}, 60_000)

test('Contour’s objects name the service of the chart', () => {
  const [service, configuration] = parseAllDocuments(read('contour.yaml')).map((document) => document.toJS())
  expect(service.spec.services).toEqual([{ name: 'weir-limiter', port: 50051 }])
  expect(configuration.spec.rateLimitService.extensionService).toEqual({ namespace: 'default', name: 'weir' })
})

test('policies.yaml is what the importer makes of ratelimit/config.yaml', () => {
  const imported = importConfig([{ name: 'config.yaml', text: read('ratelimit/config.yaml') }])
  expect(imported.ok && imported.files.map(({ text }) => text)).toEqual([read('policies.yaml')])
})
