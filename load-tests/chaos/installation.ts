/** A Redis Cluster of six machines, four limiters, and two APIs beside two of them; all gone at the end. */
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createApiKey, hashApiKey } from '../../services/api/identify/api-key.ts'
import { formatKeyLine } from '../../services/api/identify/key-line.ts'
import { type Machine, startMachines } from '../../services/limiter/redis/machines.fixture.ts'
import { openClient } from '../../services/limiter/rpc/server.fixture.ts'
import { freePort, type RunningService, startService, until } from '../../services/platform/service.fixture.ts'
import { sources } from '../run/replicas.ts'
import { createCluster, isReplicated, isWhole } from './cluster.ts'

export const LIMITERS = 4
const APIS = 2
/** On a busy machine 15 ms pass though the store is well. */
const STORE_DEADLINE_MS = 100
const GATE_DEADLINE_MS = 500
const START_MS = 60_000

export const limits = {
  hot: { capacityTokens: 100, refillTokens: 20, periodS: 1 },
  /** Nothing flows in: whatever is admitted and not charged, or charged twice, shows in the end. */
  cold: { capacityTokens: 100, refillTokens: 1, periodS: 3600 },
} as const

/** Every version says the same about the buckets that are counted. */
const policiesOf = (version: number) => `
domain: api
subject: client
policies:
  - { name: hot, match: { plan: hot }, capacity: 100, refill: 20/s }
  - { name: cold, match: { plan: cold }, capacity: 100, refill: 1/h }
  - { name: pro, match: { plan: pro }, capacity: 1000, refill: 100/s }
  - { name: unused, match: { plan: none }, capacity: ${10 + (version % 1_000)}, refill: 1/s }
`

export type Limiter = {
  readonly client: () => ReturnType<typeof openClient>
  readonly metrics: () => Promise<string>
  readonly signal: (name: NodeJS.Signals) => void
  /** Ends it, and starts another in its place. */
  readonly replace: (signal: 'SIGKILL' | 'SIGTERM') => Promise<void>
}

export type Installation = AsyncDisposable & {
  readonly machines: readonly Machine[]
  readonly limiters: readonly Limiter[]
  readonly apiPorts: readonly number[]
  readonly key: string
  readonly writePolicies: (version: number) => Promise<void>
  readonly writeWrongPolicies: () => Promise<void>
}

const startOrThrow = async (program: string, settings: Readonly<Record<string, string>>) => {
  const started = await startService(`${sources}${program}`, { LOG_LEVEL: 'error', ...settings })
  if (!started.ok) throw new Error(`${program} did not start: ${started.output}`)
  return started.service
}

const startLimiter = async (
  store: string,
  policies: string,
  stack: AsyncDisposableStack,
): Promise<Limiter & { readonly port: number }> => {
  const [port, adminPort] = [await freePort(), await freePort()]
  const start = () =>
    startOrThrow('limiter/main.ts', {
      LIMITER_STORE: store,
      LIMITER_STORE_DEADLINE_MS: `${STORE_DEADLINE_MS}`,
      LIMITER_POLICIES: policies,
      LIMITER_ADDRESS: `127.0.0.1:${port}`,
      LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    })
  let service: RunningService = await start()
  let client = openClient(`127.0.0.1:${port}`)
  stack.defer(() => service[Symbol.asyncDispose]())
  stack.defer(() => client[Symbol.dispose]())
  return {
    port,
    client: () => client,
    metrics: async () =>
      (await fetch(`http://127.0.0.1:${adminPort}/metrics`, { headers: { connection: 'close' } })).text(),
    signal: (name) => void service.process.kill(name),
    replace: async (signal) => {
      await service.stop(signal)
      service = await start()
      // One that has tried in vain waits longer and longer before it tries again.
      client[Symbol.dispose]()
      client = openClient(`127.0.0.1:${port}`)
    },
  }
}

export const startInstallation = async (): Promise<Installation> => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-chaos-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const [policies, keys, secret] = [join(folder, 'policies.yaml'), join(folder, 'keys'), join(folder, 'secret')]
  const writePolicies = (version: number) => writeFile(policies, policiesOf(version))
  await writePolicies(0)
  const { key, keyId } = createApiKey()
  const permissions = new Set(['orders:read'] as const)
  await writeFile(keys, formatKeyLine({ keyId, hash: hashApiKey(key), owner: 'chaos', plan: 'pro', permissions }))
  await writeFile(secret, randomUUID())

  const { machines } = stack.use(await startMachines(6))
  await createCluster(machines)
  await until(async () => (await isWhole(machines)) && (await isReplicated(machines)), START_MS)
  const store = `redis-cluster://${machines.map(({ address }) => address).join(',')}`
  const limiters: (Limiter & { readonly port: number })[] = []
  for (let index = 0; index < LIMITERS; index += 1) limiters.push(await startLimiter(store, policies, stack))
  const apiPorts: number[] = []
  for (const limiter of limiters.slice(0, APIS)) {
    const port = await freePort()
    stack.use(
      await startOrThrow('api/main.ts', {
        API_ADDRESS: `127.0.0.1:${port}`,
        API_ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
        API_LIMITER: `127.0.0.1:${limiter.port}`,
        API_LIMITER_DEADLINE_MS: `${GATE_DEADLINE_MS}`,
        API_KEYS: keys,
        API_CURSOR_SECRET_FILE: secret,
      }),
    )
    apiPorts.push(port)
  }
  const kept = stack.move()
  return {
    machines,
    limiters,
    apiPorts,
    key,
    writePolicies,
    writeWrongPolicies: () => writeFile(policies, 'domain: [api'),
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}
