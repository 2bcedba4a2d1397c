// A real API on PostgreSQL, a real limiter, and clients that mean them ill.
import { once } from 'node:events'
import { readFile, writeFile } from 'node:fs/promises'
import { Agent, get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { freePort } from '../platform/service.fixture.ts'
import { attacks, sieges } from './abuse.fixture.ts'
import { makeKey } from './app.fixture.ts'
import type { AttackerOrder, AttackerSettings, AttackReport } from './attacker.fixture.ts'
import { startPostgres } from './database/postgres.fixture.ts'
import { formatKeyLine } from './identify/key-line.ts'
import type { LegitReport } from './legit-client.fixture.ts'
import { openFolder, startApi, startLimiter, startProgram } from './process.fixture.ts'

/** Nobody's allowance saves the server from those who have a key: what they send is read and judged. */
const policies = `
domain: api
subject: client
policies:
  - { name: anonymous, match: { plan: anonymous }, by: [client], capacity: 20, refill: 2/s }
  - { name: free, match: { plan: free }, by: [client], capacity: 1000000, refill: 100000/s }
`

/** What V8 may keep, as in a pod with a limit and the image's flag: whoever makes it hold more ends the process. */
const HEAP_MB = 256
/** Generous: 3,600 open connections, a full young heap and the garbage that was not yet worth collecting. */
const MAX_GROWTH_MB = 300

/** Windows of time alone and under attack, one after the other, so that whatever else the machine does meets both alike. */
const ROUNDS = 3
const SETTLE_MS = 2_000
const ALONE_MS = 4_000
/** For the attack to build up. */
const RAMP_MS = 8_000
const ATTACKED_MS = 6_000
const MAX_P99_RATIO = 2
/** Slack for turns of other processes: on a small machine the attackers, the limiter and the API share a core, and with CI's other work. */
const SCHEDULING_MS = 100

const keyOf = (owner: string) => makeKey(owner, 'orders:read', 'orders:write')
const legit = keyOf('legit')
/** One for each attack, and one for all the sieges. */
const attackers = [...attacks, sieges].map((_, index) => keyOf(`attacker-${index}`))

const opened = new AsyncDisposableStack()
let api: Awaited<ReturnType<typeof startApi>>
let port = 0

beforeAll(async () => {
  const folder = opened.use(await openFolder())
  const at = (name: string) => join(folder.path, name)
  await writeFile(at('policies.yaml'), policies)
  await writeFile(at('keys'), [legit, ...attackers].map(({ record }) => formatKeyLine(record)).join('\n'))
  const limiterPort = await freePort()
  opened.use(await startLimiter(limiterPort, at('policies.yaml')))
  const postgres = opened.use(await startPostgres())
  api = opened.use(
    await startApi({
      DATABASE_URL: await postgres.createDatabase(),
      API_KEYS: at('keys'),
      API_LIMITER: `127.0.0.1:${limiterPort}`,
      API_LIMITER_DEADLINE_MS: '1000',
      NODE_OPTIONS: `--max-old-space-size=${HEAP_MB} --max-semi-space-size=8`,
    }),
  )
  port = Number(new URL(api.url).port)
})

afterAll(() => opened.disposeAsync())

const startFixture = (name: string, environment: Readonly<Record<string, string>>) =>
  startProgram(fileURLToPath(new URL(name, import.meta.url)), environment)

/** Sends an order to a fixture's process and waits for what it says. */
const order = async <Answer>({ child }: ReturnType<typeof startFixture>, what: AttackerOrder | 'report') => {
  const answer = once(child, 'message')
  child.send(what)
  const [told]: [Answer] = (await answer) as [Answer]
  return told
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
const median = (values: readonly number[]) => percentile(values, 0.5)

describe('each by itself is answered as it deserves', () => {
  test.each(attacks)('$claim: $status', async ({ run, status }) => {
    const statuses = await run({ port, key: legit.key })
    expect(statuses.length).toBeGreaterThan(0)
    expect(new Set(statuses)).toEqual(new Set([status]))
  })
})

test('all of it at once: memory stays bounded, and a client that keeps to the rules gets its right answers in time', {
  timeout: 400_000,
}, async () => {
  const settings: AttackerSettings = { port, keys: attackers.map(({ key }) => key) }
  await using client = startFixture('legit-client.fixture.ts', { API_URL: api.url, API_KEY: legit.key })
  await using attacker = startFixture('attacker.fixture.ts', { ATTACK: JSON.stringify(settings) })
  const measure = async (ms: number) => {
    await order<LegitReport>(client, 'report')
    await delay(ms)
    return order<LegitReport>(client, 'report')
  }

  await delay(SETTLE_MS)
  const beforeMb = await residentMb()
  const stop = new AbortController()
  const peak = watchResidentMb(stop.signal)
  const alone: LegitReport[] = []
  const attacked: LegitReport[] = []
  const reports: AttackReport[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    await delay(SETTLE_MS)
    alone.push(await measure(ALONE_MS))
    attacker.child.send('begin' satisfies AttackerOrder)
    await delay(RAMP_MS)
    attacked.push(await measure(ATTACKED_MS))
    reports.push(await order<AttackReport>(attacker, 'stop'))
  }
  stop.abort()
  const growthMb = (await peak) - beforeMb

  const p99 = ({ latenciesMs }: LegitReport) => percentile(latenciesMs, 0.99)
  const aloneMs = median(alone.map(p99))
  const attackedMs = median(attacked.map(p99))
  const answers = reports.at(-1)?.answers ?? {}
  console.log(describeRun({ alone, attacked, beforeMb, growthMb, answers }))

  expect([...alone, ...attacked].flatMap(({ wrong }) => wrong)).toEqual([])
  for (const { latenciesMs } of [...alone, ...attacked]) expect(latenciesMs.length).toBeGreaterThan(0)
  for (const { claim, status } of attacks) {
    const answered = Object.keys(answers[claim] ?? {}).map(Number)
    expect(answered, claim).toContain(status)
    // Without a key, all attacks of an address share its allowance.
    for (const other of answered) expect([status, 429], claim).toContain(other)
  }
  for (const { claim, statuses } of sieges)
    for (const status of Object.keys(answers[claim] ?? {})) expect(statuses, claim).toContain(Number(status))
  for (const report of reports) expect(report.sieges['connections that are idle after an answer']?.closed).toBe(0)
  expect(answeredInAll(answers), 'it was an attack').toBeGreaterThan(100)
  expect(growthMb).toBeLessThan(MAX_GROWTH_MB)
  expect(attackedMs).toBeLessThan(MAX_P99_RATIO * aloneMs + SCHEDULING_MS)
})

type Run = {
  readonly alone: readonly LegitReport[]
  readonly attacked: readonly LegitReport[]
  readonly beforeMb: number
  readonly growthMb: number
  readonly answers: AttackReport['answers']
}

const answeredInAll = (answers: AttackReport['answers']) =>
  Object.values(answers)
    .flatMap((counts) => Object.values(counts))
    .reduce((sum, count) => sum + count, 0)

const describeRun = ({ alone, attacked, beforeMb, growthMb, answers }: Run) => {
  const inMs = (reports: readonly LegitReport[], share: number) =>
    reports.map(({ latenciesMs }) => percentile(latenciesMs, share))
  const line = (name: string, reports: readonly LegitReport[]) => {
    const p99s = inMs(reports, 0.99)
    return `${name}: p50 ${median(inMs(reports, 0.5)).toFixed(1)} ms, p99 ${median(p99s).toFixed(1)} ms (windows: ${p99s.map((ms) => ms.toFixed(1)).join(', ')})`
  }
  const ratio = median(inMs(attacked, 0.99)) / median(inMs(alone, 0.99))
  return [
    'legitimate requests, medians of the windows',
    line('  alone       ', alone),
    line('  under attack', attacked),
    `  p99 ratio ${ratio.toFixed(2)}`,
    `memory of the API: ${beforeMb.toFixed(0)} MB, grew by at most ${growthMb.toFixed(0)} MB`,
    `attackers' requests answered: ${answeredInAll(answers)}`,
  ].join('\n')
}

test('while it drains, a request on a connection that is open gets its answer, whatever else hangs on', async () => {
  const hangingOn = sieges.flatMap(({ connections, open }) =>
    Array.from({ length: Math.min(connections, 200) }, () => open({ port })),
  )
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
  await vi.waitFor(() => expect(api.stdout()).toContain('"draining"'), { timeout: 10_000 })
  const answers = await askMany()
  for (const { statusCode, headers, isReused } of answers)
    expect([isReused, statusCode, headers.connection]).toEqual([true, 200, 'close'])
  expect(await api.exited).toBe(0)
  expect(performance.now() - startMs).toBeLessThan(10_000)
  for (const socket of hangingOn) socket.destroy()
})
