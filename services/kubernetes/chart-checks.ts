import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { chart, e2eValues, setValues } from './installation.ts'
import { checkNetworkPolicies } from './network-policies.ts'
import type { Report } from './report.ts'
import { run } from './shell.ts'

const valueFiles = async () => {
  const folder = join(chart, 'ci')
  return (await readdir(folder)).toSorted().map((name) => ({ name, path: join(folder, name) }))
}

const render = (...args: readonly string[]) => run('helm', ['template', 'weir', chart, ...args])

/** Values that must be refused, and what the refusal must say. */
const refused = [
  { values: { 'limiter.replica': 3 }, says: "additional properties 'replica' not allowed" },
  { values: { 'limiter.mode': 'deployment' }, says: "must be one of 'service', 'sidecar', 'both'" },
  { values: { 'limiter.replicas': 0 }, says: '/limiter/replicas' },
  { values: { 'image.digest': 'sha256:abc' }, says: "/image/digest': 'sha256:abc' does not match pattern" },
  { values: { 'redis.embedded.image.digest': 'latest' }, says: '/redis/embedded/image/digest' },
  { values: { 'api.trustedProxies[0]': '0.0.0.0/0' }, says: '/api/trustedProxies/0' },
  { values: { 'api.trustedProxies[0]': '10.0.0.0/99' }, says: '/api/trustedProxies/0' },
  { values: { 'api.trustedProxies[0]': 'fd00::/129' }, says: '/api/trustedProxies/0' },
  { values: { 'redis.embedded.primaries': 2 }, says: '/redis/embedded/primaries' },
  { values: { 'policies[0].policies[0].capacty': 3 }, says: "'capacty' not allowed" },
  { values: { 'ingress.enabled': true }, says: 'ingress.enabled needs api.trustedProxies' },
  { values: { 'gatewayRoute.enabled': true }, says: 'gatewayRoute.enabled needs api.trustedProxies' },
  { values: { 'gatewayRoute.enabled': true }, says: 'gatewayRoute.enabled needs gatewayRoute.parentRefs' },
  { values: { 'redis.embedded.enabled': false }, says: 'there is no Redis: set redis.external.url' },
  { values: { 'redis.external.url': 'redis://host' }, says: 'set redis.embedded.enabled to false' },
  {
    values: { 'redis.embedded.enabled': false, 'redis.external.url': 'memory:' },
    says: 'memory:, which each limiter has for itself, but there are 2 limiters',
  },
  {
    values: { 'redis.embedded.enabled': false, 'redis.external.url': 'memory:', 'limiter.mode': 'sidecar' },
    says: 'its limit once in each API pod',
  },
  {
    values: { 'redis.embedded.enabled': false, 'redis.external.url': 'redis://:password@host' },
    says: '/redis/external/url',
  },
  { values: { 'database.embedded.enabled': false }, says: 'the API needs one database, but none is given' },
  {
    values: { 'database.existingSecret': 'mine' },
    says: 'the API needs one database, but database.embedded.enabled and',
  },
  {
    values: { 'database.embedded.enabled': false, 'database.pglite': true },
    says: 'database.pglite keeps the orders in one API pod',
  },
  { values: { 'api.enabled': false, 'limiter.mode': 'both' }, says: 'no pod to put a sidecar into' },
  { values: { 'limiter.tls.existingSecret': 'certificates' }, says: 'api.limiter.tls.existingSecret is not set' },
  {
    values: { 'limiter.tls.existingSecret': 'certificates', 'limiter.mode': 'both' },
    says: 'by which the limiters are known to `helm test`',
  },
  {
    values: { 'limiter.tls.existingSecret': 'certificates', 'api.enabled': false },
    says: 'by which the limiters are known to `helm test`',
  },
  {
    values: {
      'redis.embedded.enabled': false,
      'redis.external.url': 'rediss://host',
      'redis.external.tls.clientCertificate': true,
    },
    says: 'clientCertificate needs redis.external.tls.existingSecret',
  },
  { values: { 'limiter.storeDeadlineMs': 600, 'api.limiter.deadlineMs': 1000 }, says: 'more than half of' },
  { values: { 'tracing.endpoint': 'collector:4318' }, says: '/tracing/endpoint' },
  { values: { 'tracing.endpoint': 'http://user:password@host' }, says: '/tracing/endpoint' },
  { values: { 'limiter.autoscaling.minReplicas': 20 }, says: 'minReplicas is 20, more than maxReplicas, 10' },
] as const

const digestOf = (digit: string) => `sha256:${digit.repeat(64)}`

/** Values that are easily rendered wrongly, and a pattern that the manifests must have, or must not have. */
const rendered: readonly RenderedCase[] = [
  {
    what: 'no pod has the version of the chart in its labels, so another version restarts only what it changes',
    args: [],
    never: /^ {8}(helm\.sh\/chart|app\.kubernetes\.io\/version):/m,
  },
  {
    what: 'an autoscaled Deployment that is not there yet begins with minReplicas',
    args: setValues({ 'limiter.autoscaling.enabled': true, 'limiter.autoscaling.minReplicas': 4 }),
    has: /^ {2}replicas: 4$/m,
  },
  {
    what: 'a large number of a values file is a number to the API',
    args: ['--set-json', 'api.limiter.fallbackCapacity=2000000'],
    has: /name: API_LIMITER_FALLBACK_CAPACITY, value: "2000000"/,
  },
  {
    what: 'drainSeconds 0 is no hook, because the API server knows no sleep of 0 s',
    args: setValues({ 'limiter.drainSeconds': 0, 'api.drainSeconds': 0 }),
    never: /sleep: \{/,
  },
  {
    what: 'there is no helm test with existingPolicies, which have no domain for it',
    args: setValues({ existingPolicies: 'mine' }),
    never: /helm\.sh\/hook: test/,
  },
  {
    what: 'trusted proxies may be blocks of either family',
    args: setValues({ 'api.trustedProxies[0]': '10.1.2.0/24', 'api.trustedProxies[1]': 'fd00:1::/128' }),
    has: /value: "10\.1\.2\.0\/24,fd00:1::\/128"/,
  },
  {
    what: 'an image that has a digest is named by it alone, wherever it runs',
    args: setValues({
      'limiter.mode': 'both',
      'image.digest': digestOf('a'),
      'redis.embedded.image.digest': digestOf('b'),
      'database.embedded.image.digest': digestOf('c'),
    }),
    has: /(?=[\s\S]*image: weir@sha256:a{64}\n)(?=[\s\S]*image: redis@sha256:b{64}\n)(?=[\s\S]*image: postgres@sha256:c{64}\n)/,
    never: /image: [^@\n]*$/m,
  },
  {
    what: 'sidecars on a socket have no certificates made for them',
    args: setValues({ 'limiter.mode': 'sidecar', 'limiter.tls.issuerRef.name': 'internal' }),
    never: /^kind: Certificate$/m,
  },
]

type RenderedCase = {
  readonly what: string
  readonly args: readonly string[]
  readonly has?: RegExp
  readonly never?: RegExp
}

/** What the chart is before anything is installed: valid, and deaf to nonsense. */
export const checkChart = async ({ claim }: Report) => {
  const lint = await run('helm', ['lint', '--strict', chart, '--values', e2eValues])
  claim('helm lint --strict finds nothing', lint.code === 0, lint.code === 0 ? '' : lint.stdout + lint.stderr)

  for (const { name, path } of await valueFiles()) {
    const rendered = await render('--values', path)
    claim(`ci/${name} renders`, rendered.code === 0, rendered.stderr.trim())
    if (rendered.code !== 0) continue
    const applied = await run('kubectl', ['apply', '--dry-run=server', '--namespace', 'default', '-f', '-'], {
      input: withoutForeignKinds((await render('--skip-tests', '--values', path)).stdout),
    })
    claim(`ci/${name} is valid to the API server`, applied.code === 0, applied.stderr.trim())
    checkEveryContainer(name, rendered.stdout, claim)
  }
  await checkScripts(claim)
  await checkNetworkPolicies(render, claim)
  for (const { what, args, has, never } of rendered) {
    const { code, stdout, stderr } = await render(...args)
    const right = code === 0 && (has?.test(stdout) ?? true) && !(never?.test(stdout) ?? false)
    claim(what, right, stderr.trim())
  }
  for (const { values, says } of refused) {
    const rendered = await render(...setValues(values))
    const told = rendered.code !== 0 && rendered.stderr.includes(says)
    const given = Object.entries(values).map(([key, value]) => `${key}=${value}`)
    claim(`${given.join(' ')} is refused: ${says}`, told, told ? '' : rendered.stderr.trim() || 'it renders')
  }
}

/** The shell of most images finds what it cannot read only when it gets there. */
const checkScripts = async (claim: Report['claim']) => {
  const folder = join(chart, 'files')
  const shell = (await run('dash', ['-c', ''])).code === 0 ? 'dash' : 'sh'
  for (const name of (await readdir(folder)).filter((file) => file.endsWith('.sh')).toSorted()) {
    const read = await run(shell, ['-n', join(folder, name)])
    claim(`files/${name} can be read by a plain shell`, read.code === 0, read.stderr.trim())
  }
}

/** Kinds that a cluster has only where their operator is. */
const withoutForeignKinds = (manifests: string) =>
  manifests
    .split(/^---$/m)
    .filter((manifest) => !/^kind: (Certificate|PodMonitor|ServiceMonitor|PrometheusRule|HTTPRoute)$/m.test(manifest))
    .join('---')

const checkEveryContainer = (name: string, manifests: string, claim: Report['claim']) => {
  const count = (pattern: RegExp) => manifests.match(pattern)?.length ?? 0
  const containers = count(/^ +imagePullPolicy:/gm)
  const counts = {
    'readOnlyRootFilesystem: true': count(/readOnlyRootFilesystem: true/g),
    'allowPrivilegeEscalation: false': count(/allowPrivilegeEscalation: false/g),
    'capabilities: drop ALL': count(/drop: \[ALL\]/g),
    'a memory limit': count(/^ +limits: ?(?:\n +)?\{? ?.*memory|^ +limits:\n +memory/gm),
  }
  const missing = Object.entries(counts).filter(([, found]) => found !== containers)
  claim(
    `ci/${name}: every container is read-only, without privileges and with a memory limit`,
    missing.length === 0,
    `${containers} containers${missing.map(([what, found]) => `, ${found} with ${what}`).join('')}`,
  )
}
