import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisCli, startClusterNode, startRedis } from '../../services/limiter/redis/redis-server.fixture.ts'
import { freePort, startService, until } from '../../services/platform/service.fixture.ts'
import { imageFlags } from './image-flags.ts'
import { EMPTY_CLIENT, HOT_CLIENT } from './spread.ts'
import type { Addresses } from './ways.ts'

const LIMITER = fileURLToPath(new URL('../../services/limiter/main.ts', import.meta.url))

// A minute's 100,000 for each client: nobody is refused while it is measured, but who is meant to be.
const OUR_POLICY = `
domain: api
subject: client
policies:
  - { name: per-client, capacity: 100000, refill: 100000/min }
overrides:
  - { policy: per-client, client: "${HOT_CLIENT}", capacity: 4500000, refill: 10000/s }
  - { policy: per-client, client: "${EMPTY_CLIENT}", capacity: 1, refill: 1/h }
`
const PEER_POLICY = `
domain: api
descriptors:
  - { key: client, rate_limit: { unit: minute, requests_per_unit: 100000 } }
  - { key: client, value: "${HOT_CLIENT}", rate_limit: { unit: minute, requests_per_unit: 4000000000 } }
  - { key: client, value: "${EMPTY_CLIENT}", rate_limit: { unit: hour, requests_per_unit: 1 } }
`

/** What a way is asked at, and the processes that work for it. */
export type Installation = {
  readonly addresses: Addresses
  readonly pids: { readonly limiter: number; readonly peer?: number | undefined }
  readonly redisPorts: readonly number[]
  /** Where the limiter's metrics are. */
  readonly admin: string
}

type Settings = Readonly<Record<string, string>>

const openLimiter = async (resources: AsyncDisposableStack, folder: string, settings: Settings) => {
  const [address, admin] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  await writeFile(join(folder, 'policies.yaml'), OUR_POLICY)
  const started = await startService(LIMITER, {
    LIMITER_ADDRESS: address,
    LIMITER_ADMIN_ADDRESS: admin,
    // So long that no decision is made without the store.
    LIMITER_STORE_DEADLINE_MS: '2000',
    LIMITER_POLICIES: join(folder, 'policies.yaml'),
    LOG_LEVEL: 'error',
    ...settings,
    NODE_OPTIONS: [...imageFlags, settings['NODE_OPTIONS'] ?? ''].join(' '),
  })
  if (!started.ok) throw new Error(started.output)
  // A profile is written as the process ends by itself.
  resources.defer(async () => void (await started.service.stop()))
  return { address, admin, pid: started.service.process.pid ?? 0 }
}

const openFolder = async (resources: AsyncDisposableStack) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'))
  resources.defer(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** Redis, a limiter with further settings, and envoyproxy/ratelimit if its program is named, on free ports. */
export const startInstallation = async (
  peerProgram: string | undefined,
  settings: Settings = {},
): Promise<Installation & AsyncDisposable> => {
  await using starting = new AsyncDisposableStack()
  const folder = await openFolder(starting)
  const redis = starting.use(await startRedis())
  const limiter = await openLimiter(starting, folder, {
    LIMITER_STORE: `redis://127.0.0.1:${redis.port}`,
    ...settings,
  })
  const peer = peerProgram === undefined ? undefined : await startPeer(peerProgram, folder, redis.port)
  if (peer !== undefined) starting.defer(() => void peer.process.kill('SIGKILL'))
  const resources = starting.move()
  return {
    addresses: { limiter: limiter.address, peer: peer?.address, redisPort: redis.port },
    pids: { limiter: limiter.pid, peer: peer?.process.pid },
    redisPorts: [redis.port],
    admin: limiter.admin,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

/** A limiter on a Redis Cluster of so many primaries, one included, which Redis's own tool does not make. */
export const startSharded = async (primaries: number): Promise<Installation & AsyncDisposable> => {
  await using starting = new AsyncDisposableStack()
  const folder = await openFolder(starting)
  const ports = await Promise.all(
    Array.from({ length: primaries }, async () => starting.use(await startClusterNode()).port),
  )
  const [first = 0] = ports
  for (const [index, port] of ports.entries()) {
    const slot = (part: number) => Math.round((SLOTS * part) / primaries)
    redisCli(port, 'CLUSTER', 'ADDSLOTSRANGE', `${slot(index)}`, `${slot(index + 1) - 1}`)
    redisCli(port, 'CLUSTER', 'MEET', '127.0.0.1', `${first}`)
  }
  await until(() => ports.every((port) => knowsAll(redisCli(port, 'CLUSTER', 'INFO'), primaries)), 60_000)
  const limiter = await openLimiter(starting, folder, {
    LIMITER_STORE: `redis-cluster://${ports.map((port) => `127.0.0.1:${port}`).join(',')}`,
  })
  const resources = starting.move()
  return {
    addresses: { limiter: limiter.address, peer: undefined, redisPort: first },
    pids: { limiter: limiter.pid },
    redisPorts: ports,
    admin: limiter.admin,
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

const SLOTS = 16_384

const knowsAll = (clusterInfo: string, primaries: number) =>
  clusterInfo.includes('cluster_state:ok') && clusterInfo.includes(`cluster_size:${primaries}`)

type Peer = { readonly process: ChildProcess; readonly address: string }

const startPeer = async (program: string, folder: string, redisPort: number): Promise<Peer> => {
  if (!existsSync(program)) throw new Error(`ENVOY_RATELIMIT=${program} is not there`)
  const config = join(folder, 'ratelimit', 'config')
  await mkdir(config, { recursive: true })
  await writeFile(join(config, 'api.yaml'), PEER_POLICY)
  const [port, httpPort, debugPort] = [await freePort(), await freePort(), await freePort()]
  const child = spawn(program, {
    stdio: 'ignore',
    env: {
      RUNTIME_ROOT: folder,
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_WATCH_ROOT: 'false',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redisPort}`,
      // As its README recommends for many requests at once.
      REDIS_PIPELINE_WINDOW: '150us',
      REDIS_PIPELINE_LIMIT: '8',
      USE_STATSD: 'false',
      LOG_LEVEL: 'error',
      HOST: '127.0.0.1',
      GRPC_HOST: '127.0.0.1',
      DEBUG_HOST: '127.0.0.1',
      PORT: `${httpPort}`,
      GRPC_PORT: `${port}`,
      DEBUG_PORT: `${debugPort}`,
    },
  })
  const answers = () =>
    fetch(`http://127.0.0.1:${httpPort}/healthcheck`).then(
      ({ ok }) => ok,
      () => false,
    )
  await until(answers, 60_000)
  return { process: child, address: `127.0.0.1:${port}` }
}
