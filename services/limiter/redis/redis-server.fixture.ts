/** Real servers for tests, Redis or what speaks its language: one alone, or a cluster. A missing program is a failure, not a skip. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../platform/service.fixture.ts'

export type RedisNode = AsyncDisposable & {
  readonly port: number
  /** Ends the server and starts it again on its port and folder, without what it held in memory. */
  readonly restart: () => Promise<void>
}

/** A port that is free now; a cluster's node also needs the one 10,000 above, so ports stay below 50,000. */
export const freePort = async (): Promise<number> => {
  const candidate = 10_000 + Math.floor(Math.random() * 40_000)
  const free = await Promise.all([isFree(candidate), isFree(candidate + 10_000)])
  return free.every(Boolean) ? candidate : freePort()
}

const isFree = (port: number) =>
  new Promise<boolean>((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

/** A server with nothing on disk, ready for commands. */
export const startRedis = (...options: readonly string[]): Promise<RedisNode> => startServer('redis-server', ...options)

export const startServer = (program: string, ...options: readonly string[]): Promise<RedisNode> =>
  start(program, ['--save', '', '--appendonly', 'no', ...options])

/** A Sentinel, which keeps its state in the configuration file. */
startRedis.sentinel = (configuration: string) => start('redis-server', ['--sentinel'], configuration)

const start = async (program: string, options: readonly string[], configuration?: string): Promise<RedisNode> => {
  const port = await freePort()
  const folder = await mkdtemp(join(tmpdir(), 'weir-redis-'))
  const fixed = ['--port', `${port}`, '--bind', '127.0.0.1', '--dir', folder, '--loglevel', 'warning']
  const command = [...(configuration === undefined ? [] : [configuration]), ...fixed, ...options]
  let child = await spawnServer(program, port, command)
  return {
    port,
    restart: async () => {
      await end(child, 'SIGTERM')
      child = await spawnServer(program, port, command)
    },
    [Symbol.asyncDispose]: async () => {
      await end(child, 'SIGKILL')
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Resolves when the server answers. */
const spawnServer = async (program: string, port: number, command: readonly string[]) => {
  // In scripts Redis orders strings by its locale: here as JavaScript does.
  const child = spawn(program, command, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, LC_ALL: 'C' } })
  const missing = await new Promise<Error | undefined>((resolve) => {
    child.once('error', resolve)
    child.once('spawn', () => resolve(undefined))
  })
  if (missing !== undefined)
    throw new Error(`${program} is not installed: apt-get install redis-server brings redis-server`, { cause: missing })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  await until(() => {
    if (child.exitCode !== null) throw new Error(`${program} ended: ${output}`)
    return redisCli(port, 'PING') === 'PONG'
  })
  return child
}

const end = async (child: ChildProcess, signal: NodeJS.Signals) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill(signal)
  await ended
}

export type RedisCluster = AsyncDisposable & { readonly nodes: readonly RedisNode[]; readonly address: string }

const CLUSTER_OPTIONS = [
  '--repl-diskless-sync-delay',
  '0',
  '--cluster-enabled',
  'yes',
  '--cluster-config-file',
  'nodes.conf',
  '--cluster-node-timeout',
  '2000',
  '--cluster-require-full-coverage',
  'no',
]

/** A node that belongs to no cluster yet. */
export const startClusterNode = (program = 'redis-server', ...options: readonly string[]) =>
  startServer(program, ...CLUSTER_OPTIONS, ...options)

/** So many primaries, and as many replicas for each. */
export const startCluster = async ({
  primaries,
  replicas,
  program,
}: {
  readonly primaries: number
  readonly replicas: number
  readonly program?: string
}): Promise<RedisCluster> => {
  const count = primaries * (1 + replicas)
  await using started = new AsyncDisposableStack()
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => started.use(await startClusterNode(program))),
  )
  const addresses = nodes.map(({ port }) => `127.0.0.1:${port}`)
  const created = spawnSync(
    'redis-cli',
    ['--cluster', 'create', ...addresses, '--cluster-replicas', `${replicas}`, '--cluster-yes'],
    { encoding: 'utf8' },
  )
  if (created.status !== 0) throw new Error(`no cluster came about: ${created.stdout} ${created.stderr}`)
  await until(() => nodes.every(({ port }) => redisCli(port, 'CLUSTER', 'INFO').includes('cluster_state:ok')))
  const kept = started.move()
  return {
    nodes,
    address: `redis-cluster://${addresses.join(',')}`,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

/** One command by Redis's own client. */
export const redisCli = (port: number, ...command: readonly string[]) =>
  spawnSync('redis-cli', ['-p', `${port}`, ...command], { encoding: 'utf8' }).stdout.trim()
