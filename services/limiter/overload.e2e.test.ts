// A real limiter in as much memory as its pod of the chart has, and callers who mean it ill or ask more than it can serve.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { status } from '@grpc/grpc-js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { freePort, type RunningService, startService, until } from '../platform/service.fixture.ts'
import { rateLimitServiceV3 } from '../wire/envoy-protocol.ts'
import { attacks, STOP } from './attacks.fixture.ts'
import { startRedis } from './redis/redis-server.fixture.ts'
import { openClient } from './rpc/server.fixture.ts'
import { openStreamClient } from './rpc/stream-client.fixture.ts'

const CAPACITY = 30_000
const POLICIES = `
domain: api
subject: client
policies:
  - { name: polite, match: { plan: polite }, capacity: ${CAPACITY}, refill: 1/min }
  - { name: others, unless: { plan: polite }, capacity: 20, refill: 2/s }
`
/** What the chart gives a limiter, and the heap that Node makes of it. */
const MEMORY_MB = 384
const NODE_OPTIONS = '--max-old-space-size=192 --max-semi-space-size=8'

const WARM_UP = 50
/** By this time after an attack what it has left in the connections' buffers is read. */
const RECOVERY_MS = 60_000
const ALONE_MS = 1_000
const ATTACKED_MS = 5_000
const ASK_EVERY_MS = 20
/** Slack for a small machine: attackers, the limiter and this test share its cores with whatever else runs there. */
const MAX_RATIO = 20
const SCHEDULING_MS = 5_000

const folders = new AsyncDisposableStack()
let policies = ''

beforeAll(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-overload-'))
  folders.defer(() => rm(folder, { recursive: true, force: true }))
  policies = join(folder, 'policies.yaml')
  await writeFile(policies, POLICIES)
})
afterAll(() => folders.disposeAsync())

const program = (name: string) => fileURLToPath(new URL(name, import.meta.url))

const start = async (name: string, settings: Readonly<Record<string, string>>): Promise<RunningService> => {
  const started = await startService(program(name), settings)
  if (!started.ok) throw new Error(started.output)
  return started.service
}

const startLimiter = async (store: string, settings: Readonly<Record<string, string>> = {}) => {
  const port = await freePort()
  const service = await start('main.ts', {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
    LIMITER_STORE: store,
    LIMITER_POLICIES: policies,
    LOG_LEVEL: 'error',
    NODE_OPTIONS,
    ...settings,
  })
  return { ...service, port, target: `127.0.0.1:${port}` }
}

const residentMb = async ({ process: { pid } }: RunningService) =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const envoyRequest = (client: string) => ({
  domain: 'api',
  descriptors: [{ entries: Object.entries({ client, plan: 'polite' }).map(([key, value]) => ({ key, value })) }],
})

/** A caller who keeps to the rules, on connections of its own: asks by each of the three ways in turn, and notes each answer. */
const startPolite = (target: string, name: string) => {
  const client = openClient(target)
  const stream = openStreamClient(target)
  const codes = new Map<number, number>()
  let latenciesMs: number[] = []
  let asked = 0
  const underWay = new Set<Promise<void>>()
  const attributes = { client: name, plan: 'polite' }
  const ways = [
    async () => {
      const reply = await client.shouldAllow({ domain: 'api', attributes })
      return reply.ok ? (reply.response.verdict === 'ALLOW' ? status.OK : status.UNKNOWN) : reply.error.code
    },
    async () => {
      const reply = await client.call(rateLimitServiceV3.ShouldRateLimit, envoyRequest(name))
      return reply.ok ? (reply.response.overallCode === 'OK' ? status.OK : status.UNKNOWN) : reply.error.code
    },
    async () => {
      const id = asked
      void stream.send(id, [{ domain: 'api', attributes }])
      let found = stream.decisions.find((one) => one.id === id)
      const isThere = () => {
        found = stream.decisions.find((one) => one.id === id)
        return found !== undefined
      }
      const ended = stream.ended.then(({ code }) => code)
      const code = await Promise.race([stream.until(isThere), ended])
      if (typeof code === 'number') return code
      return found?.ok ? status.OK : (found?.code ?? status.UNKNOWN)
    },
  ]
  const ask = async () => {
    const startMs = performance.now()
    const way = ways[asked % ways.length]
    asked += 1
    const code = (await way?.()) ?? status.UNKNOWN
    codes.set(code, (codes.get(code) ?? 0) + 1)
    if (code === status.OK) latenciesMs.push(performance.now() - startMs)
  }
  const timer = setInterval(() => {
    const asking = ask().then(() => void underWay.delete(asking))
    underWay.add(asking)
  }, ASK_EVERY_MS)
  return {
    codes,
    /** Of what was answered since this was asked last. */
    takeLatenciesMs: () => {
      const taken = latenciesMs
      latenciesMs = []
      return taken
    },
    /** What is left in its bucket, when everything is answered. */
    finish: async () => {
      clearInterval(timer)
      await Promise.all(underWay)
      const reply = await client.shouldAllow({ domain: 'api', attributes, cost: 0 })
      return reply.ok ? reply.response.quota?.remaining : reply.error
    },
    [Symbol.dispose]: () => {
      clearInterval(timer)
      client[Symbol.dispose]()
      stream[Symbol.dispose]()
    },
  }
}

const quantile = (values: readonly number[], part: number) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? Number.NaN

const rows: object[] = []

describe('whoever keeps to the rules is answered, and exactly, in the memory that there is', {
  timeout: 120_000,
}, () => {
  let limiter: Awaited<ReturnType<typeof startLimiter>>
  let attacker: RunningService

  const opened = new AsyncDisposableStack()

  beforeAll(async () => {
    limiter = opened.use(await startLimiter('memory:'))
    attacker = opened.use(await start('attacker.fixture.ts', { PORT: `${limiter.port}` }))
  })
  afterAll(async () => {
    console.table(rows)
    await opened.disposeAsync()
  })

  test.each(attacks)('$claim', async ({ claim, isOverload = false }) => {
    using polite = startPolite(limiter.target, claim)
    // What the attack before has left is over.
    await until(() => (polite.codes.get(status.OK) ?? 0) >= WARM_UP, RECOVERY_MS)
    polite.takeLatenciesMs()
    await delay(ALONE_MS)
    const alone = polite.takeLatenciesMs()
    attacker.process.send(claim)
    let peakMb = 0
    for (const endMs = performance.now() + ATTACKED_MS; performance.now() < endMs; await delay(100))
      peakMb = Math.max(peakMb, await residentMb(limiter))
    const over = once(attacker.process, 'message')
    attacker.process.send(STOP)
    const left = await polite.finish()
    const attacked = polite.takeLatenciesMs()
    await over

    const answered = polite.codes.get(status.OK) ?? 0
    rows.push({
      attack: claim,
      'alone ms p50/99': [0.5, 0.99].map((part) => quantile(alone, part).toFixed(1)).join(' / '),
      'attacked ms p50/99': [0.5, 0.99].map((part) => quantile(attacked, part).toFixed(1)).join(' / '),
      'peak MB': Math.round(peakMb),
      answered,
      refused: polite.codes.get(status.RESOURCE_EXHAUSTED) ?? 0,
    })
    const allowed = isOverload ? [status.OK, status.RESOURCE_EXHAUSTED] : [status.OK]
    expect(allowed).toEqual(expect.arrayContaining([...polite.codes.keys()]))
    // To the token, but for one that may have been refilled meanwhile.
    expect([0, 1]).toContain(Number(left) - (CAPACITY - answered))
    expect(limiter.process.exitCode, limiter.output()).toBeNull()
    expect(peakMb).toBeLessThan(MEMORY_MB)
    expect(attacked.length).toBeGreaterThan(0)
    expect(quantile(attacked, 0.5)).toBeLessThan(MAX_RATIO * quantile(alone, 0.5) + SCHEDULING_MS)
  })
})

/** Shorter than what a connection may be silent (2 s): a store that is slow, not one that is away. */
const ASLEEP_S = 1.5
const MAX_UNDER_WAY = 10_000

const answers = async (port: number) => {
  const ping = spawn('redis-cli', ['-p', `${port}`, 'PING'])
  const answered = await Promise.race([once(ping, 'exit').then(() => true), delay(200).then(() => false)])
  ping.kill()
  return answered
}

test('beyond 10,000 checks under way each further one is refused at once, however it is asked, and those are answered', {
  timeout: 120_000,
}, async () => {
  await using redis = await startRedis('--enable-debug-command', 'yes')
  await using limiter = await startLimiter(`redis://127.0.0.1:${redis.port}`, { LIMITER_STORE_DEADLINE_MS: '30000' })
  using client = openClient(limiter.target)
  const attributes = { client: 'a', plan: 'polite' }
  const streams = Array.from({ length: 11 }, () => openStreamClient(limiter.target))
  // All are connected, and the script is loaded.
  for (const stream of streams) await stream.send(0, [{ domain: 'api', attributes }])
  for (const stream of streams) await stream.until(() => stream.decisions.length === 1)

  const awake = once(spawn('redis-cli', ['-p', `${redis.port}`, 'DEBUG', 'SLEEP', `${ASLEEP_S}`]), 'exit')
  const order: string[] = []
  void awake.then(() => order.push('the store is awake'))
  await until(async () => !(await answers(redis.port)))
  const checks = Array.from({ length: 1_000 }, () => ({ domain: 'api', attributes }))
  const told = (ok: boolean) => streams.flatMap(({ decisions }) => decisions.filter((one) => one.ok === ok))
  for (const stream of streams) void stream.send(1, checks)
  await until(() => told(false).length === streams.length * checks.length - MAX_UNDER_WAY)
  const refusals = await Promise.all([
    client.shouldAllow({ domain: 'api', attributes }),
    client.call(rateLimitServiceV3.ShouldRateLimit, envoyRequest('a')),
  ])
  order.push('refused')

  for (const reply of refusals) expect(reply).toMatchObject({ ok: false, error: { code: status.RESOURCE_EXHAUSTED } })
  await Promise.all(streams.map((stream) => stream.until(() => stream.decisions.length === 1_001)))
  expect(order).toEqual(['refused', 'the store is awake'])
  expect(new Set(told(false).map((one) => !one.ok && one.code))).toEqual(new Set([status.RESOURCE_EXHAUSTED]))
  expect(told(true)).toHaveLength(MAX_UNDER_WAY + streams.length)
  const left = await client.shouldAllow({ domain: 'api', attributes, cost: 0 })
  const remaining = left.ok ? left.response.quota?.remaining : undefined
  expect([0, 1]).toContain(Number(remaining) - (CAPACITY - MAX_UNDER_WAY - streams.length))
  for (const stream of streams) stream[Symbol.dispose]()
})
