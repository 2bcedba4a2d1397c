// What does the gate cost an API, in processor time, requests per second and latency?   npm run bench:api [-- --quick]
// The API without its gate and with it, the limiter's buckets in memory and in Redis: real processes, loaded in turn, medians of the
// rounds. Prints a table and the path of the figures as JSON; on standard error how far it is.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApiKey, hashApiKey } from '../services/api/identify/api-key.ts'
import type { KeyRecord } from '../services/api/identify/api-keys.ts'
import { formatKeyLine } from '../services/api/identify/key-line.ts'
import { startRedis } from '../services/limiter/redis/redis-server.fixture.ts'
import { freePort, startService } from '../services/platform/service.fixture.ts'
import { keepAsking } from './bench/keep-asking.ts'
import { processCpuUs } from './bench/process-cpu.ts'

/** What performance.md of the design asks for. */
const GOAL = { gateCpuUs: 15, throughputPart: 0.85 } as const

const isQuick = process.argv.includes('--quick')
const ROUNDS = isQuick ? 1 : 5
const WARM_UP_MS = isQuick ? 1_000 : 3_000
const ROUND_MS = isQuick ? 2_000 : 5_000
const CONNECTIONS = 64

/** Never reached: every request is counted, none refused. */
const policies = `
domain: api
subject: client
policies:
  - { name: free, match: { plan: free }, by: [client], capacity: 4000000, refill: 1000000/s }
`

type Variant = {
  readonly name: string
  readonly url: string
  readonly apiPid: number
  readonly limiterPid: number | undefined
}

type Round = {
  readonly requestsPerS: number
  readonly apiCpuUs: number
  readonly limiterCpuUs: number | undefined
  readonly p50Ms: number
  readonly p99Ms: number
}

const say = (text: string) => process.stderr.write(`${text}\n`)
const percentile = (values: readonly number[], share: number) =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length * share) - 1] ?? Number.NaN
const median = (values: readonly number[]) => percentile(values, 0.5)

const started = new AsyncDisposableStack()
const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const start = async (path: string, settings: Readonly<Record<string, string>>) => {
  const result = await startService(program(path), { LOG_LEVEL: 'warn', ...settings })
  if (!result.ok) throw new Error(`${path} did not start: ${result.output}`)
  const { pid } = started.use(result.service).process
  if (pid === undefined) throw new Error(`${path} has no process`)
  return pid
}

const startVariants = async (folder: string): Promise<readonly Variant[]> => {
  const redis = started.use(await startRedis())
  const api = async (path: string, limiterPort?: number) => {
    const port = await freePort()
    const pid = await start(path, {
      API_ADDRESS: `127.0.0.1:${port}`,
      API_ADMIN_ADDRESS: '127.0.0.1:0',
      API_KEYS: join(folder, 'keys'),
      API_LIMITER_DEADLINE_MS: '2000',
      API_LIMITER_FALLBACK: 'deny',
      ...(limiterPort !== undefined && { API_LIMITER: `127.0.0.1:${limiterPort}` }),
    })
    return { url: `http://127.0.0.1:${port}`, apiPid: pid }
  }
  const gated = async (name: string, store: string) => {
    const port = await freePort()
    const limiterPid = await start('../services/limiter/main.ts', {
      LIMITER_ADDRESS: `127.0.0.1:${port}`,
      LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
      LIMITER_POLICIES: join(folder, 'policies.yaml'),
      LIMITER_STORE: store,
      LIMITER_STORE_DEADLINE_MS: '1000',
    })
    return { name, limiterPid, ...(await api('../services/api/main.ts', port)) }
  }
  return [
    { name: 'no gate', limiterPid: undefined, ...(await api('bench/ungated-api.ts')) },
    await gated('gate, memory', 'memory:'),
    await gated('gate, Redis', `redis://127.0.0.1:${redis.port}`),
  ]
}

type Request = {
  readonly name: string
  readonly path: string
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
}

const load = ({ url }: Variant, { path, status, headers }: Request, durationMs: number) =>
  keepAsking({ origin: url, path, status, headers, connections: CONNECTIONS, durationMs })

const measure = async (variant: Variant, request: Request): Promise<Round> => {
  const { apiPid, limiterPid } = variant
  const cpu = () => ({ api: processCpuUs(apiPid), limiter: limiterPid === undefined ? 0 : processCpuUs(limiterPid) })
  const before = cpu()
  const { seconds, latenciesMs } = await load(variant, request, ROUND_MS)
  const after = cpu()
  return {
    requestsPerS: latenciesMs.length / seconds,
    apiCpuUs: (after.api - before.api) / latenciesMs.length,
    limiterCpuUs: limiterPid === undefined ? undefined : (after.limiter - before.limiter) / latenciesMs.length,
    p50Ms: percentile(latenciesMs, 0.5),
    p99Ms: percentile(latenciesMs, 0.99),
  }
}

const medianOf = (rounds: readonly Round[]): Round => ({
  requestsPerS: median(rounds.map(({ requestsPerS }) => requestsPerS)),
  apiCpuUs: median(rounds.map(({ apiCpuUs }) => apiCpuUs)),
  limiterCpuUs:
    rounds[0]?.limiterCpuUs === undefined ? undefined : median(rounds.map((round) => round.limiterCpuUs ?? 0)),
  p50Ms: median(rounds.map(({ p50Ms }) => p50Ms)),
  p99Ms: median(rounds.map(({ p99Ms }) => p99Ms)),
})

const compare = async (variants: readonly Variant[], request: Request) => {
  const rounds = new Map(variants.map(({ name }): [string, Round[]] => [name, []]))
  for (const variant of variants) await load(variant, request, WARM_UP_MS)
  for (let round = 1; round <= ROUNDS; round += 1)
    for (const variant of variants) {
      const figures = await measure(variant, request)
      rounds.get(variant.name)?.push(figures)
      say(
        `${request.name}, round ${round} of ${ROUNDS}, ${variant.name}: ${Math.round(figures.requestsPerS)} requests/s`,
      )
    }
  const results = [...rounds].map(([name, of]) => ({ name, ...medianOf(of), rounds: of }))
  const [without] = results
  return results.map((result) => ({
    request: request.name,
    ...result,
    gateCpuUs: result === without ? undefined : result.apiCpuUs - (without?.apiCpuUs ?? 0),
    throughputPart: result === without ? undefined : result.requestsPerS / (without?.requestsPerS ?? 0),
  }))
}

const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'))
try {
  const { keyId, key } = createApiKey()
  const record: KeyRecord = {
    keyId,
    hash: hashApiKey(key),
    owner: 'bench',
    plan: 'free',
    permissions: new Set(['orders:read']),
  }
  await writeFile(join(folder, 'keys'), formatKeyLine(record))
  await writeFile(join(folder, 'policies.yaml'), policies)
  say('starting Redis, two limiters and three APIs …')
  const variants = await startVariants(folder)
  const headers = { authorization: `Bearer ${key}` }
  const document = await fetch(`${variants[0]?.url}/v1/openapi.json`, { headers })
  const etag = document.headers.get('etag') ?? ''
  await document.arrayBuffer()
  const requests: readonly Request[] = [
    // The cheapest answer that the API has: next to nothing but the journey itself.
    { name: 'document, 304', path: '/v1/openapi.json', status: 304, headers: { ...headers, 'if-none-match': etag } },
    { name: 'list of orders', path: '/v1/orders?limit=5', status: 200, headers },
  ]
  const results: Awaited<ReturnType<typeof compare>>[number][] = []
  for (const request of requests) results.push(...(await compare(variants, request)))

  console.table(
    results.map((result) => ({
      request: result.request,
      API: result.name,
      'requests/s': Math.round(result.requestsPerS),
      'of no gate': result.throughputPart === undefined ? '' : `${(result.throughputPart * 100).toFixed(0)} %`,
      'API µs': result.apiCpuUs.toFixed(1),
      'gate µs': result.gateCpuUs?.toFixed(1) ?? '',
      'limiter µs': result.limiterCpuUs?.toFixed(1) ?? '',
      'p50 ms': result.p50Ms.toFixed(1),
      'p99 ms': result.p99Ms.toFixed(1),
    })),
  )
  console.log(
    `${CONNECTIONS} connections, each asks as soon as it is answered; processor time a request; medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s.\n` +
      `Goal: gate ≤ ${GOAL.gateCpuUs} µs, requests/s ≥ ${GOAL.throughputPart * 100} % of no gate.`,
  )
  const path = join(tmpdir(), `weir-api-throughput-${new Date().toISOString().replaceAll(':', '-')}.json`)
  const machine = { cpu: cpus()[0]?.model, cores: availableParallelism(), node: process.version }
  await writeFile(path, JSON.stringify({ machine, goal: GOAL, connections: CONNECTIONS, results }, null, 2))
  console.log(path)
} finally {
  await started.disposeAsync()
  await rm(folder, { recursive: true, force: true })
}
