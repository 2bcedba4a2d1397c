import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, test } from 'vitest'
import { createAuthority } from '../../platform/certificates.fixture.ts'
import { freePort, startService, until } from '../../platform/service.fixture.ts'
import { startCluster, startRedis } from '../redis/redis-server.fixture.ts'
import { exampleFolder, installEnvoy, type Response, startEnvoy } from './envoy-process.fixture.ts'

const INSTALL_MS = 300_000
const TEST_MS = 180_000

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const examplePolicies = readFileSync(join(exampleFolder, 'policies.yaml'), 'utf8')

let program: string
beforeAll(async () => {
  program = await installEnvoy()
}, INSTALL_MS)

type LimiterOptions = {
  readonly policies: string
  readonly store?: string
  readonly port?: number
  readonly headers?: string
  readonly tls?: Readonly<Record<string, string>>
}

const startLimiter = async ({ policies, store = 'memory:', port, headers = 'refusals', tls = {} }: LimiterOptions) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-envoy-limiter-'))
  const file = join(folder, 'policies.yaml')
  await writeFile(file, policies)
  const listening = port ?? (await freePort())
  const started = await startService(main, {
    LIMITER_ADDRESS: `127.0.0.1:${listening}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
    LIMITER_STORE: store,
    // Every decision is the bucket's, also on a busy machine.
    LIMITER_STORE_DEADLINE_MS: '10000',
    LIMITER_POLICIES: file,
    LIMITER_ENVOY_HEADERS: headers,
    ...tls,
    LOG_LEVEL: 'error',
  })
  if (!started.ok) throw new Error(started.output)
  const { service } = started
  return {
    port: listening,
    rewritePolicies: (text: string) => writeFile(file, text),
    stop: service.stop,
    [Symbol.asyncDispose]: async () => {
      await service[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Envoy = Awaited<ReturnType<typeof startEnvoy>>

/** So many requests, at most 20 of them at once. */
const send = async (envoy: Envoy, count: number, path: string, headers: Readonly<Record<string, string>>) => {
  const responses: Response[] = []
  let left = count
  const caller = async () => {
    while (left > 0) {
      left -= 1
      responses.push(await envoy.get(path, headers))
    }
  }
  await Promise.all(Array.from({ length: 20 }, caller))
  return responses
}

const countOf = (responses: readonly Response[], status: number) =>
  responses.filter((response) => response.status === status).length

const statuses = (responses: readonly Response[]) => [...new Set(responses.map(({ status }) => status))].sort()

const from = (address: string) => ({ 'x-forwarded-for': address })

describe('a real Envoy', { timeout: TEST_MS }, () => {
  test('gets per-route descriptors limited: 429 with the headers, the body and the time to come back', async () => {
    await using limiter = await startLimiter({ policies: examplePolicies })
    await using envoy = await startEnvoy({ program, limiters: [limiter.port] })

    const first = await envoy.get('/', { 'x-api-key': 'a' })
    expect(first).toMatchObject({ status: 200, body: 'from the upstream' })
    expect(first.headers).toMatchObject({
      'x-ratelimit-limit': '20, 20;w=60;name="api-key"',
      'x-ratelimit-remaining': '19',
    })
    expect(first.headers).not.toHaveProperty('ratelimit-limit')

    const rest = await send(envoy, 40, '/', { 'x-api-key': 'a' })
    const refused = rest.find(({ status }) => status === 429)
    expect(statuses(rest)).toEqual([200, 429])
    expect(refused?.headers).toMatchObject({
      'content-type': 'application/json',
      'ratelimit-limit': '20',
      'ratelimit-remaining': '0',
      'x-ratelimit-remaining': '0',
    })
    const waitS = Number(refused?.headers['retry-after'])
    expect(waitS).toBeGreaterThanOrEqual(1)
    expect(waitS).toBeLessThanOrEqual(3)
    expect(refused?.body).toMatch(/^\{"error":"Rate limit exceeded: retry after [1-3] seconds?\."\}$/)

    // Another key is not touched, the partner has its own number, and who sends no key has no descriptor.
    expect((await envoy.get('/', { 'x-api-key': 'b' })).headers['x-ratelimit-remaining']).toBe('19')
    expect((await envoy.get('/', { 'x-api-key': 'partner' })).headers['x-ratelimit-limit']).toMatch(/^100, 100;w=60/)
    expect(statuses(await send(envoy, 30, '/', {}))).toEqual([200])
  })

  test('gets a refused request for nothing: one address over its limit takes nothing from the limit of all', async () => {
    await using limiter = await startLimiter({ policies: examplePolicies })
    await using envoy = await startEnvoy({ program, limiters: [limiter.port] })
    // 5 an hour for each address, 30 for all: the abuser's refusals leave the others what is theirs.
    expect(countOf(await send(envoy, 200, '/login', from('198.51.100.1')), 200)).toBe(5)
    for (const client of [2, 3, 4, 5, 6])
      expect(countOf(await send(envoy, 5, '/login', from(`198.51.100.${client}`)), 200)).toBe(5)
    expect(countOf(await send(envoy, 5, '/login', from('198.51.100.7')), 200)).toBe(0)
    // A limit of 0 lets nobody pass, and promises no time.
    const banned = await envoy.get('/login', from('192.0.2.66'))
    expect(banned.status).toBe(429)
    expect(banned.headers).not.toHaveProperty('retry-after')
  })

  test('decides by its own failure mode when no limiter answers: open passes, closed refuses', async () => {
    const nobody = await freePort()
    await using open = await startEnvoy({ program, limiters: [nobody] })
    expect(statuses(await send(open, 30, '/', { 'x-api-key': 'a' }))).toEqual([200])
    await using closed = await startEnvoy({
      program,
      limiters: [nobody],
      change: (text) => text.replace('failure_mode_deny: false', 'failure_mode_deny: true'),
    })
    expect(statuses(await send(closed, 30, '/', { 'x-api-key': 'a' }))).toEqual([500])
  })

  test('sees a policy change without a restart', async () => {
    await using limiter = await startLimiter({ policies: examplePolicies })
    await using envoy = await startEnvoy({ program, limiters: [limiter.port] })
    await limiter.rewritePolicies(
      examplePolicies.replace('capacity: 20\n    refill: 20/min', 'capacity: 3\n    refill: 3/h'),
    )
    await until(async () => {
      const { headers } = await envoy.get('/', { 'x-api-key': `probe-${Math.random()}` })
      return headers['x-ratelimit-limit']?.startsWith('3, 3;w=3600') === true
    }, 60_000)
    expect(countOf(await send(envoy, 30, '/', { 'x-api-key': 'fresh' }), 200)).toBe(3)
  })

  test('meets a limiter that restarts under load: no request passes uncounted, and the count goes on', async () => {
    await using redis = await startRedis()
    const policies =
      'domain: edge\nsubject: api_key\npolicies: [{ name: key, by: [api_key], capacity: 300, refill: 1/h }]\n'
    const options = { policies, store: `redis://127.0.0.1:${redis.port}`, port: await freePort() }
    const limiter = await startLimiter(options)
    await using envoy = await startEnvoy({
      program,
      limiters: [options.port],
      change: (text) => text.replace('failure_mode_deny: false', 'failure_mode_deny: true'),
    })
    const responses: Response[] = []
    let loading = true
    const load = Promise.all(
      Array.from({ length: 10 }, async () => {
        while (loading) responses.push(await envoy.get('/', { 'x-api-key': 'a' }))
      }),
    )
    await until(() => countOf(responses, 200) >= 50, 60_000)
    await limiter.stop('SIGTERM')
    await using again = await startLimiter(options)
    await until(() => countOf(responses, 429) >= 50, 60_000)
    loading = false
    await load
    expect(again.port).toBe(limiter.port)
    // What was charged but never reported to Envoy, at most what was under way, is lost to the client and never given twice.
    expect(countOf(responses, 200)).toBeLessThanOrEqual(300)
    expect(countOf(responses, 200)).toBeGreaterThanOrEqual(290)
    expect(statuses(responses).filter((status) => ![200, 429, 500].includes(status))).toEqual([])
    console.info(
      `restart under load: ${countOf(responses, 200)} of 300 passed, ${countOf(responses, 429)} refused, ${countOf(responses, 500)} while nobody answered`,
    )
  })

  test('asks over TLS with a certificate of its own, and is answered only with one', async () => {
    using authority = createAuthority()
    const [server, client] = [authority.issue('limiter'), authority.issue('envoy')]
    await using limiter = await startLimiter({
      policies: examplePolicies,
      tls: { LIMITER_TLS_CERT: server.cert, LIMITER_TLS_KEY: server.key, LIMITER_TLS_CLIENT_CA: authority.ca },
    })
    const overTls = (certificates: string) => (text: string) =>
      text.replace('failure_mode_deny: false', 'failure_mode_deny: true').replace(
        '    - name: weir\n',
        `    - name: weir
      transport_socket:
        name: envoy.transport_sockets.tls
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
          common_tls_context:
            validation_context: { trusted_ca: { filename: "${authority.ca}" } }
            ${certificates}
`,
      )
    const own = `tls_certificates: [{ certificate_chain: { filename: "${client.cert}" }, private_key: { filename: "${client.key}" } }]`
    await using envoy = await startEnvoy({ program, limiters: [limiter.port], change: overTls(own) })
    expect(countOf(await send(envoy, 30, '/login', from('198.51.100.1')), 200)).toBe(5)
    await using stranger = await startEnvoy({
      program,
      limiters: [limiter.port],
      change: overTls('alpn_protocols: [h2]'),
    })
    expect(statuses(await send(stranger, 5, '/login', from('198.51.100.2')))).toEqual([500])
  })

  test('gets exact counts from two limiters on a Redis Cluster', async () => {
    await using cluster = await startCluster({ primaries: 3, replicas: 0 })
    const policies = `
domain: edge
subject: remote_address
policies:
  - { name: key, match: { descriptor: api_key }, by: [api_key], capacity: 150, refill: 1/h }
  - { name: login-all, match: { descriptor: generic_key }, by: [], capacity: 60, refill: 1/h }
  - { name: login-each, match: { descriptor: "generic_key,remote_address" }, by: [remote_address], capacity: 10, refill: 1/h }
`
    await using one = await startLimiter({ policies, store: cluster.address })
    await using two = await startLimiter({ policies, store: cluster.address })
    await using envoy = await startEnvoy({ program, limiters: [one.port, two.port] })
    const rows = []
    for (const key of ['a', 'b', 'c']) {
      const responses = await send(envoy, 300, '/', { 'x-api-key': key })
      rows.push({ bucket: `api_key ${key}`, offered: 300, admitted: countOf(responses, 200), expected: 150 })
      expect(statuses(responses)).toEqual([200, 429])
    }
    const all: Response[] = []
    for (let client = 1; client <= 8; client += 1) {
      const responses = await send(envoy, 40, '/login', from(`198.51.100.${client}`))
      all.push(...responses)
      // The addresses' own limits come first; what is refused there costs the limit of all nothing.
      if (client <= 5) expect(countOf(responses, 200)).toBe(10)
    }
    rows.push({ bucket: 'login, 8 addresses', offered: 320, admitted: countOf(all, 200), expected: 60 })
    console.info(rows.map((row) => Object.values(row).join('\t')).join('\n'))
    for (const { admitted, expected } of rows) expect(admitted).toBe(expected)
  })
})
