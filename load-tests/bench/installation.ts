import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { redisCli, startRedis } from '../../services/limiter/redis/redis-server.fixture.ts'
import { freePort, startService, until } from '../../services/platform/service.fixture.ts'
import type { Addresses } from './ways.ts'

const LIMITER = fileURLToPath(new URL('../../services/limiter/main.ts', import.meta.url))

// A minute's 100,000 for each client: nobody is refused while it is measured.
const OUR_POLICY =
  'domain: api\nsubject: client\npolicies:\n  - { name: per-client, capacity: 100000, refill: 100000/min }\n'
const PEER_POLICY =
  'domain: api\ndescriptors:\n  - key: client\n    rate_limit: { unit: minute, requests_per_unit: 100000 }\n'

/** Redis, a limiter with further settings, and envoyproxy/ratelimit if its program is named, on free ports. */
export const startInstallation = async (
  peerProgram: string | undefined,
  settings: Readonly<Record<string, string>> = {},
) => {
  await using starting = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-bench-'))
  starting.defer(() => rm(folder, { recursive: true, force: true }))
  const redis = starting.use(await startRedis())
  const redisPid = Number(/^process_id:(\d+)/m.exec(redisCli(redis.port, 'INFO', 'server'))?.[1])

  const [port, adminPort] = [await freePort(), await freePort()]
  await writeFile(join(folder, 'policies.yaml'), OUR_POLICY)
  const started = await startService(LIMITER, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_STORE: `redis://127.0.0.1:${redis.port}`,
    // So long that no decision is made without the store.
    LIMITER_STORE_DEADLINE_MS: '2000',
    LIMITER_POLICIES: join(folder, 'policies.yaml'),
    LOG_LEVEL: 'error',
    ...settings,
  })
  if (!started.ok) throw new Error(started.output)
  const { service } = started
  // A profile is written as the process ends by itself.
  starting.defer(async () => void (await service.stop()))

  const peer = peerProgram === undefined ? undefined : await startPeer(peerProgram, folder, redis.port)
  if (peer !== undefined) starting.defer(() => void peer.process.kill('SIGKILL'))
  const addresses: Addresses = { limiter: `127.0.0.1:${port}`, peer: peer?.address, redisPort: redis.port }
  const resources = starting.move()
  return {
    addresses,
    pids: { limiter: service.process.pid ?? 0, peer: peer?.process.pid, redis: redisPid },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}

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
