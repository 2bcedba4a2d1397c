// What does the gate cost an API, in processor time, requests per second and latency?   npm run bench:api [-- --quick] [-- --json FILE]
// The API without its gate, with it (the limiter's buckets in memory and in Redis), and with @fastify/rate-limit instead: real processes,
// loaded in turn, medians of the rounds. Prints a table; on standard error how far it is.
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createApiKey, hashApiKey } from '../services/api/identify/api-key.ts'
import type { KeyRecord } from '../services/api/identify/api-keys.ts'
import { formatKeyLine } from '../services/api/identify/key-line.ts'
import { startRedis } from '../services/limiter/redis/redis-server.fixture.ts'
import { freePort, startService } from '../services/platform/service.fixture.ts'
import { readCpuUs } from './bench/cpu-time.ts'
import { formatApi } from './bench/format.ts'
import { imageFlags } from './bench/image-flags.ts'
import { keepAsking } from './bench/keep-asking.ts'
import { median, percentile } from './bench/median.ts'
import { readRedisWork } from './bench/redis-work.ts'

const { values: options } = parseArgs({ options: { quick: { type: 'boolean' }, json: { type: 'string' } } })
const isQuick = options.quick === true
const ROUNDS = isQuick ? 1 : 5
const WARM_UP_MS = isQuick ? 1_000 : 2_000
const ROUND_MS = isQuick ? 2_000 : 3_000
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
  readonly limiterPid?: number
  readonly redisPort?: number
}

type Round = {
  readonly requestsPerS: number
  readonly apiCpuUs: number
  readonly limiterCpuUs?: number
  readonly redisCpuUs?: number
  readonly p50Ms: number
  readonly p99Ms: number
}

/** An API and what its requests took, as medians of the rounds. */
export type ApiResult = Round & {
  readonly request: string
  readonly name: string
  /** What it takes more than the API without a gate, and its requests per second as a part of that one's. */
  readonly gateCpuUs?: number
  readonly throughputPart?: number
}

const say = (text: string) => process.stderr.write(`${text}\n`)
const started = new AsyncDisposableStack()
const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const start = async (path: string, settings: Readonly<Record<string, string>>) => {
  const result = await startService(program(path), {
    LOG_LEVEL: 'warn',
    NODE_OPTIONS: imageFlags.join(' '),
    ...settings,
  })
  if (!result.ok) throw new Error(`${path} did not start: ${result.output}`)
  const { pid } = started.use(result.service).process
  if (pid === undefined) throw new Error(`${path} has no process`)
  return pid
}

/**
 * The APIs, of which one works at a time, have the first core for themselves, and everything else has the others: what the gate costs the
 * API is asked, and not what a limiter, a Redis and this program take from it on a small machine.
 */
const OTHER_CORES = availableParallelism() > 1 ? `1-${availableParallelism() - 1}` : '0'
const runOn = (cores: string, pid: number) =>
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', cores, String(pid)], { stdio: 'ignore' })

const startVariants = async (folder: string): Promise<readonly Variant[]> => {
  const redis = started.use(await startRedis())
  const api = async (path: string, gate: Readonly<Record<string, string>> = {}) => {
    const port = await freePort()
    const apiPid = await start(path, {
      API_ADDRESS: `127.0.0.1:${port}`,
      API_ADMIN_ADDRESS: '127.0.0.1:0',
      API_KEYS: join(folder, 'keys'),
      API_LIMITER_DEADLINE_MS: '2000',
      API_LIMITER_FALLBACK: 'deny',
      ...gate,
    })
    runOn('0', apiPid)
    return { url: `http://127.0.0.1:${port}`, apiPid }
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
    return { name, limiterPid, ...(await api('../services/api/main.ts', { API_LIMITER: `127.0.0.1:${port}` })) }
  }
  const redisPort = redis.port
  const otherGate = 'bench/other-gate-api.ts'
  return Promise.all([
    api(otherGate).then((one) => ({ name: 'no gate', ...one })),
    gated('gate, memory', 'memory:'),
    gated('gate, Redis', `redis://127.0.0.1:${redisPort}`).then((one) => ({ ...one, redisPort })),
    api(otherGate, { REDIS_PORT: `${redisPort}` }).then((one) => ({
      name: '@fastify/rate-limit, Redis',
      ...one,
      redisPort,
    })),
  ])
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
  const { apiPid, limiterPid, redisPort } = variant
  const readAll = () => ({
    api: readCpuUs(apiPid),
    limiter: limiterPid === undefined ? 0 : readCpuUs(limiterPid),
    redis: redisPort === undefined ? 0 : readRedisWork(redisPort).cpuUs,
  })
  const before = readAll()
  const { seconds, latenciesMs } = await load(variant, request, ROUND_MS)
  const after = readAll()
  const count = latenciesMs.length
  const sorted = latenciesMs.toSorted((a, b) => a - b)
  return {
    requestsPerS: count / seconds,
    apiCpuUs: (after.api - before.api) / count,
    ...(limiterPid !== undefined && { limiterCpuUs: (after.limiter - before.limiter) / count }),
    ...(redisPort !== undefined && { redisCpuUs: (after.redis - before.redis) / count }),
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
  }
}

const medianOf = (rounds: readonly Round[]): Round => {
  const [first] = rounds
  const of = (figure: (round: Round) => number | undefined) => median(rounds.map((round) => figure(round) ?? 0))
  return {
    requestsPerS: of((round) => round.requestsPerS),
    apiCpuUs: of((round) => round.apiCpuUs),
    ...(first?.limiterCpuUs !== undefined && { limiterCpuUs: of((round) => round.limiterCpuUs) }),
    ...(first?.redisCpuUs !== undefined && { redisCpuUs: of((round) => round.redisCpuUs) }),
    p50Ms: of((round) => round.p50Ms),
    p99Ms: of((round) => round.p99Ms),
  }
}

const compare = async (variants: readonly Variant[], request: Request): Promise<readonly ApiResult[]> => {
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
  const results = [...rounds].map(([name, of]) => ({ request: request.name, name, ...medianOf(of) }))
  const [without] = results
  return results.map((result) =>
    without === undefined || result === without
      ? result
      : {
          ...result,
          gateCpuUs: result.apiCpuUs - without.apiCpuUs,
          throughputPart: result.requestsPerS / without.requestsPerS,
        },
  )
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
  say('starting Redis, two limiters and four APIs …')
  // What it starts from here on runs where it does.
  runOn(OTHER_CORES, process.pid)
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
  const results: ApiResult[] = []
  for (const request of requests) results.push(...(await compare(variants, request)))
  console.info(
    `${CONNECTIONS} connections, each asks as soon as it is answered; processor time a request; medians of ${ROUNDS} rounds of ${ROUND_MS / 1000} s; the API has a core for itself\n\n${formatApi(results)}`,
  )
  if (options.json !== undefined) await writeFile(options.json, JSON.stringify(results))
} finally {
  await started.disposeAsync()
  await rm(folder, { recursive: true, force: true })
}
