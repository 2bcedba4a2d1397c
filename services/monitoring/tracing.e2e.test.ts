import { randomBytes } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Client, credentials, Metadata } from '@grpc/grpc-js'
import { describe, expect, test } from 'vitest'
import { domainName } from '../contract/check.ts'
import { formatTraceparent, type TraceContext } from '../contract/trace-context.ts'
import { startRedis } from '../limiter/redis/redis-server.fixture.ts'
import { openLimiterClient } from '../limiter-client/open-limiter-client.ts'
import { startService, until } from '../platform/service.fixture.ts'
import { rateLimitServiceV3 } from '../wire/envoy-protocol.ts'
import { rateLimitService } from '../wire/protocol.ts'
import { openInstallation } from './installation.fixture.ts'
import { openOtlpReceiver, type ReceivedSpan } from './otlp-receiver.fixture.ts'
import { traceText } from './trace-text.fixture.ts'

const newTrace = (isSampled = true): TraceContext => ({
  traceId: randomBytes(16).toString('hex'),
  spanId: randomBytes(8).toString('hex'),
  isSampled,
})

const SOON = { OTEL_BSP_SCHEDULE_DELAY: '50' }
/** No test is about who decides when a machine is busy. */
const PATIENT = { API_LIMITER_DEADLINE_MS: '10000', LIMITER_STORE_DEADLINE_MS: '5000' }

const openTraced = async (settings: Readonly<Record<string, string>> = {}) => {
  await using stack = new AsyncDisposableStack()
  const redis = stack.use(await startRedis())
  const receiver = stack.use(await openOtlpReceiver())
  const both = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.endpoint, ...SOON, ...PATIENT }
  const installation = stack.use(
    await openInstallation({
      limiters: 1,
      store: `redis://127.0.0.1:${redis.port}`,
      limiterSettings: both,
      apiSettings: { ...both, ...settings },
    }),
  )
  const [limiter] = installation.limiters
  if (limiter === undefined) throw new Error('no limiter')
  const kept = stack.move()
  const get = (trace: TraceContext | undefined, path = '/v1/orders', headers: Readonly<Record<string, string>> = {}) =>
    installation.get(path, { ...headers, ...(trace && { traceparent: formatTraceparent(trace) }) })
  return {
    receiver,
    limiter,
    api: installation.api,
    get,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

const asItIs = (bytes: Buffer) => bytes
const ENVOY_ENTRIES = [
  { key: 'client', value: 'user:a' },
  { key: 'plan', value: 'free' },
]

const named = (spans: readonly ReceivedSpan[], name: string) =>
  spans.find((span) => span.name === name) ?? expect.fail(`no span ${name} in\n${traceText(spans)}`)

const API_SPAN = 'GET /v1/orders'
const LIMITER_SPAN = 'weir.v1.RateLimit/ShouldAllowStream'
const STORE_SPAN = 'EVALSHA take.lua'

describe('with a collector', () => {
  test('a request is one trace from its client through the API and the limiter to Redis', async () => {
    await using traced = await openTraced()
    const { receiver } = traced
    const trace = newTrace()
    expect((await traced.get(trace)).status).toBe(200)
    await until(() => receiver.ofTrace(trace.traceId).length >= 4)
    const spans = receiver.ofTrace(trace.traceId)
    process.stdout.write(`\n${traceText(spans)}\n`)
    expect(spans).toHaveLength(4)
    expect(named(spans, API_SPAN)).toMatchObject({
      service: 'weir-api',
      kind: 'server',
      parentId: trace.spanId,
      attributes: { 'http.request.method': 'GET', 'http.route': API_SPAN, 'http.response.status_code': '200' },
      error: undefined,
    })
    const decision = { 'weir.verdict': 'allow', 'weir.basis': 'bucket', 'weir.policy': 'anonymous' }
    expect(named(spans, 'gate')).toMatchObject({
      service: 'weir-api',
      kind: 'client',
      parentId: named(spans, API_SPAN).spanId,
      attributes: { ...decision, 'weir.source': 'limiter', 'weir.quota.remaining': '19' },
    })
    expect(named(spans, LIMITER_SPAN)).toMatchObject({
      service: 'weir-limiter',
      kind: 'server',
      parentId: named(spans, 'gate').spanId,
      attributes: { ...decision, 'weir.domain': 'api' },
    })
    expect(named(spans, STORE_SPAN)).toMatchObject({
      service: 'weir-limiter',
      kind: 'client',
      parentId: named(spans, LIMITER_SPAN).spanId,
      attributes: { 'db.system.name': 'redis', 'weir.store.takes': '1' },
      links: [],
    })
    expect(receiver.faults).toEqual([])
  }, 120_000)

  test('without a traceparent, or with one that makes no sense, a request begins a trace of its own', async () => {
    await using traced = await openTraced()
    const { receiver } = traced
    await traced.get(undefined)
    await traced.get(undefined, '/v1/orders', { traceparent: 'nonsense' })
    const roots = () => receiver.spans.filter(({ name, parentId }) => name === API_SPAN && parentId === '')
    await until(() => roots().length === 2 && receiver.spans.length === 8)
    for (const { traceId } of roots()) expect(receiver.ofTrace(traceId)).toHaveLength(4)
  }, 120_000)

  test('a refused request says why, and a path tells nothing of itself', async () => {
    await using traced = await openTraced()
    const { receiver } = traced
    const traces = Array.from({ length: 25 }, () => newTrace())
    const statuses = await Promise.all(
      traces.map(async (trace) => (await traced.get(trace, '/v1/nowhere?key=x')).status),
    )
    const refused = traces[statuses.indexOf(429)] ?? expect.fail('nobody was refused')
    const spansOf = () => receiver.ofTrace(refused.traceId)
    await until(() => ['gate', 'unmatched'].every((name) => spansOf().some((span) => span.name === name)))
    expect(named(spansOf(), 'gate').attributes).toMatchObject({ 'weir.verdict': 'deny', 'weir.policy': 'anonymous' })
    expect(named(spansOf(), 'unmatched').attributes).toMatchObject({ 'http.response.status_code': '429' })
    expect(receiver.raw()).not.toContain('nowhere')
  }, 120_000)

  test('a call of Redis that serves many checks is a step of one, linked to the others and they to it', async () => {
    await using traced = await openTraced()
    const { receiver } = traced
    const asking: TraceContext[] = []
    await using client = openLimiterClient({
      address: `127.0.0.1:${traced.limiter.port}`,
      deadlineMs: 10_000,
      traceContext: () => asking.at(-1),
    })
    const ask = () =>
      client.shouldAllow({
        domain: domainName('api'),
        attributes: new Map([
          ['client', 'user:together'],
          ['plan', 'free'],
        ]),
        cost: 1,
      })
    // The connection is there then, and all of them leave in one frame.
    await ask()
    const answers = Array.from({ length: 40 }, () => {
      asking.push(newTrace())
      return ask()
    })
    for (const { source } of await Promise.all(answers)) expect(source).toBe('limiter')
    const spansNamed = (name: string) => receiver.spans.filter((span) => span.name === name)
    await until(() => spansNamed(LIMITER_SPAN).length === 40 && spansNamed(STORE_SPAN).length > 0)
    const checks = spansNamed(LIMITER_SPAN)
    const calls = spansNamed(STORE_SPAN)
    expect(checks.map(({ traceId }) => traceId).toSorted()).toEqual(asking.map(({ traceId }) => traceId).toSorted())
    for (const check of checks) {
      const own = calls.filter(({ parentId }) => parentId === check.spanId)
      const linked = calls.filter(({ spanId }) => check.links.some((link) => link.spanId === spanId))
      expect([...own, ...linked]).toHaveLength(1)
      for (const call of linked) expect(call.links).toContainEqual({ traceId: check.traceId, spanId: check.spanId })
    }
    expect(calls.reduce((sum, { links }) => sum + links.length, calls.length)).toBe(40)
    expect(Math.max(...calls.map(({ links }) => links.length))).toBeGreaterThan(0)
  }, 120_000)

  test.each([
    [
      'weir.v1.RateLimit/ShouldAllow',
      rateLimitService.ShouldAllow.requestSerialize({ domain: 'api', attributes: { client: 'user:a', plan: 'free' } }),
    ],
    [
      'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
      rateLimitServiceV3.ShouldRateLimit.requestSerialize({ domain: 'api', descriptors: [{ entries: ENVOY_ENTRIES }] }),
    ],
  ])(
    'a single call of %s is a step of the trace in its metadata',
    async (name, request) => {
      await using traced = await openTraced()
      const { receiver } = traced
      const trace = newTrace()
      const metadata = new Metadata()
      metadata.set('traceparent', formatTraceparent(trace))
      const client = new Client(`127.0.0.1:${traced.limiter.port}`, credentials.createInsecure())
      await new Promise<void>((resolve, reject) =>
        client.makeUnaryRequest(`/${name}`, asItIs, asItIs, request, metadata, (error) =>
          error === null ? resolve() : reject(error),
        ),
      )
      client.close()
      await until(() => receiver.ofTrace(trace.traceId).length === 2)
      const spans = receiver.ofTrace(trace.traceId)
      expect(named(spans, name)).toMatchObject({ parentId: trace.spanId, attributes: { 'weir.verdict': 'allow' } })
      expect(named(spans, STORE_SPAN).parentId).toBe(named(spans, name).spanId)
    },
    120_000,
  )

  test('what is traced is up to OTEL_TRACES_SAMPLER, and the limiter follows who asks', async () => {
    await using traced = await openTraced({ OTEL_TRACES_SAMPLER: 'parentbased_always_off' })
    const { receiver } = traced
    const [sampled, unsampled] = [newTrace(), newTrace(false)]
    await traced.get(undefined)
    await traced.get(unsampled)
    await traced.get(sampled)
    await traced.api.service.stop()
    await traced.limiter.service.stop()
    expect(new Set(receiver.spans.map(({ traceId }) => traceId))).toEqual(new Set([sampled.traceId]))
    expect(receiver.spans).toHaveLength(4)
  }, 120_000)
})

describe('a collector in trouble', () => {
  test('holds up nobody: spans beyond the queue are dropped, and the log says so', async () => {
    await using traced = await openTraced({
      OTEL_BSP_MAX_QUEUE_SIZE: '32',
      OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '16',
      OTEL_EXPORTER_OTLP_TIMEOUT: '60000',
    })
    const { receiver, api } = traced
    const release = receiver.hold()
    for (let asked = 0; asked < 100; asked += 1) expect([200, 429]).toContain((await traced.get(newTrace())).status)
    release()
    await until(() => receiver.spans.some(({ service }) => service === 'weir-api'))
    await until(async () => {
      await traced.get(newTrace())
      return api.service.output().includes('"event":"tracing.warning"')
    })
    expect(await api.service.stop()).toMatchObject({ code: 0 })
    // 200 spans of the requests that were held: one batch under way and a queue of them are left.
    const beforeRelease = receiver.spans.filter(({ service }) => service === 'weir-api')
    expect(beforeRelease.length).toBeLessThan(150)
  }, 120_000)

  test('that is not there is told once, and the process ends as ever', async () => {
    await using redis = await startRedis()
    const nowhere = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', ...SOON }
    await using installation = await openInstallation({
      limiters: 1,
      store: `redis://127.0.0.1:${redis.port}`,
      limiterSettings: nowhere,
      apiSettings: nowhere,
    })
    const { service } = installation.api
    await installation.get('/v1/orders')
    await until(() => service.output().includes('tracing.failing'))
    await installation.get('/v1/orders')
    expect((await installation.get('/v1/orders')).status).toBe(200)
    expect(await service.stop()).toMatchObject({ code: 0 })
    expect(service.output().split('tracing.failing')).toHaveLength(2)
    for (const limiter of installation.limiters) expect(await limiter.service.stop()).toMatchObject({ code: 0 })
  }, 120_000)
})

describe('without a collector', () => {
  const loaded = async (settings: Readonly<Record<string, string>>) => {
    await using redis = await startRedis()
    const noted = {
      NODE_OPTIONS: `--import=${new URL('../platform/note-imports.fixture.ts', import.meta.url)}`,
      ...settings,
    }
    await using installation = await openInstallation({
      limiters: 1,
      store: `redis://127.0.0.1:${redis.port}`,
      limiterSettings: noted,
      apiSettings: noted,
    })
    expect((await installation.get('/v1/orders', { traceparent: formatTraceparent(newTrace()) })).status).toBe(200)
    return [installation.api, ...installation.limiters].map(({ service }) => service.output().match(/^loads .*$/gm))
  }

  test('nothing of the SDK is loaded; with one it is', async () => {
    expect(await loaded({})).toEqual([null, null])
    expect(await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1', OTEL_SDK_DISABLED: 'true' })).toEqual([
      null,
      null,
    ])
    const sdk = expect.arrayContaining(['loads @opentelemetry/sdk-node'])
    expect(await loaded({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1' })).toEqual([sdk, sdk])
  }, 120_000)
})

test('settings that are wrong stop the start, each with what would be right', async () => {
  const wrong = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'collector:4318',
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http',
    OTEL_TRACES_SAMPLER: 'sometimes',
    OTEL_TRACES_SAMPLER_ARG: '2',
  }
  for (const program of ['../api/main.ts', '../limiter/main.ts']) {
    const ended = await startService(fileURLToPath(new URL(program, import.meta.url)), wrong)
    expect(ended).toMatchObject({ ok: false, code: 1 })
    if (!ended.ok) for (const name of Object.keys(wrong)) expect(ended.output).toContain(`- ${name} is`)
  }
}, 120_000)
