// Does memory stay bounded, however many clients come?   node load-tests/bounded-memory.ts [KEYS] [--json FILE]
// Sends a million distinct clients (or KEYS) through the limiter's client and a limiter process of its own, once with its memory store
// and once with a Redis of its own; each process has the heap of a container of the chart. Resident memory must be flat, ± 10 %, after
// the first 40 %: of the limiter the most that was seen in each twentieth, of the client what is left when its garbage was collected.
// Prints a table; exit code 1 when it is not.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Check, domainName } from '../services/contract/check.ts'
import { startRedis } from '../services/limiter/redis/redis-server.fixture.ts'
import { openLimiterClient } from '../services/limiter-client/open-limiter-client.ts'
import { freePort } from '../services/platform/service.fixture.ts'
import { flatness } from './bench/flatness.ts'
import { imageFlags } from './bench/image-flags.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { json: { type: 'string' } },
})
const KEYS = Number(positionals[0] ?? 1_000_000)
/** Below what the client lets wait, so that all are asked about. */
const AT_ONCE = 500
const SAMPLES = 20
/** What Node takes within the limiter's memory limit in the chart: with more it would collect its garbage later. */
const HEAP_FLAGS = ['--max-old-space-size=256', ...imageFlags]
for (const flag of HEAP_FLAGS) setFlagsFromString(flag)
setFlagsFromString('--expose-gc')
/** Of this process, which makes the load too: what that leaves behind is not the client's. */
const collectGarbage: () => void = runInNewContext('gc')

const policies = `
domain: api
subject: client
policies:
  - { name: per-client, by: [client], capacity: 60, refill: 60/h }
  - { name: per-route, by: [client, route], capacity: 30, refill: 30/h }
`

const main = fileURLToPath(new URL('../services/limiter/main.ts', import.meta.url))

const startLimiter = async (store: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-memory-'))
  await writeFile(join(folder, 'policies.yaml'), policies)
  const port = await freePort()
  const child = spawn(process.execPath, [...HEAP_FLAGS, main], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      LIMITER_ADDRESS: `127.0.0.1:${port}`,
      LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
      LIMITER_STORE: store,
      LIMITER_STORE_DEADLINE_MS: '5000',
      LIMITER_POLICIES: join(folder, 'policies.yaml'),
      LOG_LEVEL: 'warn',
    },
  })
  await once(child, 'message')
  return {
    address: `127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resident memory of a process in MiB. */
const residentMib = (pid: number) =>
  Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

type Sample = { readonly keys: number; readonly limiterMib: number; readonly clientMib: number }

const measure = async (name: string, store: string) => {
  await using limiter = await startLimiter(store)
  await using client = openLimiterClient({ address: limiter.address, deadlineMs: 60_000 })
  const samples: Sample[] = []
  let [again, limiterMib] = [0, 0]
  const askAll = async (keys: readonly number[]) => {
    for (let left = keys; left.length > 0; ) {
      const gates = await Promise.all(left.map((key) => client.shouldAllow(checkOf(key))))
      const missed = left.filter((_, index) => gates[index]?.source !== 'limiter')
      again += missed.length
      // A busy machine: the limiter was not there yet, or not in time.
      if (missed.length > 0) await delay(100)
      if (again > KEYS) throw new Error('the limiter does not answer')
      left = missed
    }
  }
  for (let sent = 0; sent < KEYS; ) {
    const count = Math.min(AT_ONCE, KEYS - sent)
    await askAll(Array.from({ length: count }, (_, index) => sent + index))
    sent += count
    limiterMib = Math.max(limiterMib, residentMib(limiter.pid))
    if (sent < ((samples.length + 1) * KEYS) / SAMPLES) continue
    collectGarbage()
    samples.push({ keys: sent, limiterMib, clientMib: residentMib(process.pid) })
    limiterMib = 0
    process.stderr.write(`\r${name}: ${sent} of ${KEYS} keys `)
  }
  process.stderr.write('\n')
  return { name, samples, again }
}

const checkOf = (key: number): Check => ({
  domain: domainName('api'),
  attributes: new Map([
    // A tenth of them as long as they may be.
    ['client', `user:${key}${key % 10 === 0 ? 'x'.repeat(900) : ''}`],
    ['route', 'GET /v1/orders/{id}'],
  ]),
  cost: 1,
})

type Measured = Awaited<ReturnType<typeof measure>>

/** One process with one store. */
export type MemoryResult = { readonly who: string; readonly store: string; readonly keys: number } & ReturnType<
  typeof flatness
>

const report = ({ name, samples, again }: Measured): readonly MemoryResult[] => {
  console.info(`\n${name}: resident memory in MiB`)
  console.table(
    samples.map(({ keys, limiterMib, clientMib }) => ({
      keys,
      limiter: Math.round(limiterMib),
      'client process': Math.round(clientMib),
    })),
  )
  const of = (who: string, values: readonly number[]) => ({ who, store: name, keys: KEYS, ...flatness(values) })
  const results = [
    of(
      'limiter',
      samples.map(({ limiterMib }) => limiterMib),
    ),
    of(
      'client process',
      samples.map(({ clientMib }) => clientMib),
    ),
  ]
  for (const { who, low, high, deviation, isFlat } of results)
    console.info(
      `${isFlat ? 'flat' : 'NOT FLAT'}: ${who}, ${name}, ${Math.round(low)} to ${Math.round(high)} MiB (± ${(deviation * 100).toFixed(1)} %)`,
    )
  if (again > 0) console.info(`${again} checks were not answered in time, and were sent again`)
  return results
}

const inMemory = report(await measure('memory store', 'memory:'))
await using redis = await startRedis()
const inRedis = report(await measure('Redis store', `redis://127.0.0.1:${redis.port}`))
const results = [...inMemory, ...inRedis]
if (options.json !== undefined) await writeFile(options.json, JSON.stringify(results))
process.exitCode = results.every(({ isFlat }) => isFlat) ? 0 : 1
