// A real API in front of a real limiter, and clients that mean it ill.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { attacks, openIdle, repeat, slowBody, slowestRefusalMs, slowHeader, type Target } from './abuse.fixture.ts'
import { makeKey } from './app.fixture.ts'
import type { Plan } from './identify/caller.ts'
import { formatKeyLine } from './identify/key-line.ts'
import type { LegitReport } from './legit-client.fixture.ts'
import { freePort, openFolder, startApi, startLimiter, startProgram } from './process.fixture.ts'

const policies = `
domain: api
subject: client
policies:
  - { name: anonymous, match: { plan: anonymous }, by: [client], capacity: 2000, refill: 50/s }
  - { name: free, match: { plan: free }, by: [client], capacity: 60, refill: 5/s }
  - { name: pro, match: { plan: pro }, by: [client], capacity: 1000000, refill: 100000/s }
`

/** What V8 may keep, as in a pod with a limit: what is held on to for longer ends the process. */
const HEAP_MB = 256
/** Generous: 3,500 open connections, a full young heap and the garbage that was not yet worth collecting. */
const MAX_GROWTH_MB = 300

const keyOf = (owner: string, plan: Plan) => {
  const key = makeKey(owner, 'orders:read', 'orders:write')
  return { ...key, record: { ...key.record, plan } }
}
const legit = keyOf('legit', 'pro')
const unlimited = keyOf('unlimited', 'pro')
const limited = keyOf('limited', 'free')

const opened = new AsyncDisposableStack()
let api: Awaited<ReturnType<typeof startApi>>
let port = 0

beforeAll(async () => {
  const folder = opened.use(await openFolder())
  const at = (name: string) => join(folder.path, name)
  await writeFile(at('policies.yaml'), policies)
  await writeFile(at('keys'), [legit, unlimited, limited].map(({ record }) => formatKeyLine(record)).join('\n'))
  const limiterPort = await freePort()
  opened.use(await startLimiter(limiterPort, at('policies.yaml')))
  api = opened.use(
    await startApi({
      API_KEYS: at('keys'),
      API_LIMITER: `127.0.0.1:${limiterPort}`,
      API_LIMITER_DEADLINE_MS: '1000',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB}`,
    }),
  )
  port = Number(new URL(api.url).port)
})

afterAll(() => opened.disposeAsync())

const startLegitClient = () =>
  startProgram(fileURLToPath(new URL('legit-client.fixture.ts', import.meta.url)), {
    API_URL: api.url,
    API_KEY: legit.key,
  })

const reportOf = async ({ child }: ReturnType<typeof startLegitClient>): Promise<LegitReport> => {
  const answer = once(child, 'message')
  child.send('report')
  const [report] = await answer
  return report
}

const residentMb = async () => {
  const status = await readFile(`/proc/${api.child.pid}/status`, 'utf8')
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024
}

/** The largest that it is until told to stop. */
const watchResidentMb = async (signal: AbortSignal) => {
  let peakMb = 0
  while (!signal.aborted) {
    peakMb = Math.max(peakMb, await residentMb())
    await delay(100)
  }
  return peakMb
}

const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN

describe('each by itself is answered as it deserves', () => {
  test.each(attacks)('$claim: $status', async ({ run, status }) => {
    const statuses = await run({ port, key: unlimited.key })
    expect(statuses.length).toBeGreaterThan(0)
    expect(new Set(statuses)).toEqual(new Set([status]))
  })
})

test('all of it at once: memory stays bounded, and a client that keeps to the rules gets its right answers in time', {
  timeout: 60_000,
}, async () => {
  await using client = startLegitClient()
  await delay(1_000)
  await reportOf(client)
  await delay(4_000)
  const before = await reportOf(client)
  const beforeMb = await residentMb()

  const stop = new AbortController()
  const peak = watchResidentMb(stop.signal)
  const anonymous: Target = { port }
  const slowHeaders = Array.from({ length: 300 }, () => slowHeader(anonymous))
  const slowBodies = Array.from({ length: 100 }, () => slowBody({ port, key: unlimited.key }))
  const running = attacks.map((attack) => repeat(attack, { port, key: limited.key }, stop.signal))
  const idle = await openIdle(anonymous, 3_000)
  await delay(slowestRefusalMs)

  expect(idle.filter(({ closed }) => !closed)).toHaveLength(idle.length)
  const during = await reportOf(client)
  stop.abort()
  const growthMb = (await peak) - beforeMb
  const attacked = await Promise.all(running)
  for (const socket of idle) socket.destroy()

  const ratio = percentile(during.latenciesMs, 0.99) / percentile(before.latenciesMs, 0.99)
  const figures = ({ latenciesMs }: LegitReport) =>
    `p50 ${percentile(latenciesMs, 0.5).toFixed(1)} ms, p99 ${percentile(latenciesMs, 0.99).toFixed(1)} ms of ${latenciesMs.length}`
  console.log(
    `legitimate requests: alone ${figures(before)}; under abuse ${figures(during)}; p99 ratio ${ratio.toFixed(2)}\n` +
      `memory: ${beforeMb.toFixed(0)} MB before, grew by ${growthMb.toFixed(0)} MB\n` +
      `attacks answered: ${attacked.flat().length}`,
  )

  expect([...before.wrong, ...during.wrong]).toEqual([])
  expect(before.latenciesMs.length).toBeGreaterThan(100)
  expect(during.latenciesMs.length).toBeGreaterThan(200)
  expect(growthMb).toBeLessThan(MAX_GROWTH_MB)
  for (const [index, { claim, status }] of attacks.entries()) {
    // Beyond the attacker's allowance it is the limiter that answers.
    const others = (attacked[index] ?? []).filter((each) => each !== status && each !== 429)
    expect(others, claim).toEqual([])
  }
  expect(attacked.flat()).toContain(429)
  for (const { statuses } of slowHeaders) expect([[408], [429]]).toContainEqual(await statuses)
  for (const { statuses } of slowBodies) expect(await statuses).toEqual([408])
})

test('while it drains, a request on a connection that is open gets its answer, whatever else hangs on', async () => {
  const anonymous: Target = { port }
  const idle = await openIdle({ port, key: unlimited.key }, 500)
  const slow = Array.from({ length: 50 }, () => slowHeader(anonymous))
  const agent = new Agent({ keepAlive: true })
  const ask = () =>
    new Promise<IncomingMessage & { readonly isReused: boolean }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${legit.key}` }
      const sent = get(`${api.url}/v1/orders?limit=1`, { agent, headers }, (response) =>
        response.resume().once('end', () => resolve(Object.assign(response, { isReused: sent.reusedSocket }))),
      )
      sent.once('error', reject)
    })
  const askMany = () => Promise.all(Array.from({ length: 20 }, ask))
  await askMany()
  const startMs = performance.now()
  api.child.kill('SIGTERM')
  await vi.waitFor(() => expect(api.stdout()).toContain('"draining"'))
  const answers = await askMany()
  for (const { statusCode, headers, isReused } of answers)
    expect([isReused, statusCode, headers.connection]).toEqual([true, 200, 'close'])
  expect(await api.exited).toBe(0)
  expect(performance.now() - startMs).toBeLessThan(5_000)
  for (const socket of idle) socket.destroy()
  for (const client of slow) client[Symbol.dispose]()
})
