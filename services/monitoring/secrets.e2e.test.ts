import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { openTemporaryFolder } from '../limiter/policies/temporary-folder.fixture.ts'
import { redisCli, startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { openClient } from '../limiter/rpc/server.fixture.ts'
import { startService, until } from '../platform/service.fixture.ts'
import { openInstallation, policyText } from './installation.fixture.ts'
import { openOtlpReceiver } from './otlp-receiver.fixture.ts'

/** A credential as they are made: nobody writes such a text for anything else. */
const secret = () => `weir_${randomBytes(24).toString('base64url')}9a`

/** A trace that is kept. */
const SAMPLED = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))

test('a credential in any input of running processes is in no log line, metric, trace, error or admin page', async () => {
  const planted = {
    header: secret(),
    apiKey: secret(),
    policy: secret(),
    wrongPolicy: secret(),
    candidate: secret(),
    storePassword: secret(),
    adminToken: secret(),
    wrongToken: secret(),
    requestId: secret(),
    attribute: secret(),
    attributeName: secret(),
    domain: secret(),
    cursor: secret(),
    tracestate: secret(),
    traceparent: secret(),
    baggage: secret(),
    userAgent: secret(),
    collectorHeader: secret(),
  }
  await using redis = await startRedis()
  redisCli(redis.port, 'CONFIG', 'SET', 'requirepass', planted.storePassword)
  await using folder = await openTemporaryFolder()
  const passwordFile = folder.at('password')
  await writeFile(passwordFile, planted.storePassword)
  await writeFile(`${passwordFile}.token`, planted.adminToken)
  await using receiver = await openOtlpReceiver()
  const traced = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer ${planted.collectorHeader}`,
    OTEL_BSP_SCHEDULE_DELAY: '50',
  }
  const candidateFile = folder.at('candidate.yaml')
  const override = `overrides:\n  - { policy: free, client: "${planted.candidate}", capacity: 5 }\n`
  await writeFile(candidateFile, `${policyText}${override}`)
  await using installation = await openInstallation({
    limiters: 1,
    store: `redis://127.0.0.1:${redis.port}`,
    limiterSettings: {
      LIMITER_STORE_PASSWORD_FILE: passwordFile,
      LIMITER_ADMIN_TOKEN_FILE: `${passwordFile}.token`,
      LIMITER_CANDIDATE_POLICIES: candidateFile,
      LOG_LEVEL: 'trace',
      ...traced,
    },
    apiSettings: { LOG_LEVEL: 'trace', ...traced },
  })
  const { limiters, api, policies } = installation
  const [limiter] = limiters
  if (limiter === undefined) throw new Error('no limiter')
  const errors: string[] = []

  for (const authorization of [`Bearer ${planted.header}`, `Basic ${planted.header}`, planted.header])
    for (const path of ['/v1/orders', `/v1/orders?cursor=${planted.cursor}`, `/${planted.header}`]) {
      const headers = {
        authorization,
        cookie: planted.header,
        'x-api-key': planted.apiKey,
        'x-request-id': planted.requestId,
        'user-agent': planted.userAgent,
        traceparent: path.startsWith('/v1/orders?') ? planted.traceparent : SAMPLED,
        tracestate: `vendor=${planted.tracestate},weir=kept`,
        baggage: `key=${planted.baggage}`,
      }
      errors.push(await (await installation.get(path, headers)).text())
    }

  using client = openClient(`127.0.0.1:${limiter.port}`)
  const attributes = { client: planted.attribute, plan: 'free', [planted.attributeName]: planted.attribute }
  for (let asked = 0; asked < 80; asked += 1)
    await client.shouldAllow({ domain: 'api', attributes, requestId: `${planted.requestId}${asked}` })
  for (const token of [planted.wrongToken, planted.adminToken]) {
    const peeked = await client.peek({ domain: 'api', attributes }, token)
    if (!peeked.ok) errors.push(peeked.error.message)
  }

  await writeFile(policies, `${policyText}overrides:\n  - { policy: free, client: "${planted.policy}", capacity: 5 }\n`)
  await until(async () => (await limiter.page('/metrics')).includes('weir_policy_generation 2'), 60_000)
  await writeFile(
    policies,
    `${policyText}  - { name: x, capacity: "${planted.wrongPolicy}", ${planted.wrongPolicy}: 1 }\n`,
  )
  await until(async () => (await limiter.page('/metrics')).includes('weir_policy_reload_rejected 1'), 60_000)

  // Processes that do not start because of what was put in the wrong place.
  const inUrls = { store: secret(), database: secret(), level: secret() }
  const failed = [
    await startService(program('../limiter/main.ts'), {
      LIMITER_STORE: `redis://user:${inUrls.store}@127.0.0.1:1`,
      LIMITER_POLICIES: policies,
    }),
    await startService(program('../api/main.ts'), {
      DATABASE_URL: `postgres://user:${inUrls.database}@127.0.0.1:1/orders`,
    }),
  ]
  for (const ended of failed) {
    expect(ended.ok).toBe(false)
    if (!ended.ok) errors.push(ended.output)
  }

  await until(() => new Set(receiver.spans.map(({ service }) => service)).size === 2)
  expect(receiver.raw()).toContain('weir=kept')

  const pages = await Promise.all(
    ['/metrics', '/top', '/policies', '/policies/diff', '/livez', '/readyz'].map((path) => limiter.page(path)),
  )
  const apiPages = await Promise.all(['/metrics', '/livez', '/readyz'].map((path) => api.page(path)))
  const seen = {
    'log of the limiter': limiter.service.output(),
    'log of the API': api.service.output(),
    'pages of the limiter': pages.join('\n'),
    'pages of the API': apiPages.join('\n'),
    errors: errors.join('\n'),
    traces: receiver.raw(),
  }
  expect(seen['log of the limiter']).toContain('refused')
  expect(seen['log of the limiter']).toContain('policies rejected')
  expect(seen['pages of the limiter']).toContain('refusedAtLeast')
  expect(seen['pages of the limiter']).toContain('wouldBeRefused')
  const found = Object.entries(seen).flatMap(([where, text]) =>
    Object.entries({ ...planted, ...inUrls }).flatMap(([what, value]) =>
      text.includes(value) ? [`${what} in ${where}`] : [],
    ),
  )
  expect(found).toEqual([])
}, 300_000)
