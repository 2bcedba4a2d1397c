/** envoyproxy/ratelimit itself, built from its module, on a Redis. */
import { execFile, spawn } from 'node:child_process'
import { access, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePort, until } from '../../platform/service.fixture.ts'
import { openClient } from '../rpc/server.fixture.ts'

const VERSION = 'v1.4.1-0.20260122083618-3fb702589d36'
/** Kept from run to run. */
const cache = fileURLToPath(new URL(`../../../.cache/envoyproxy-ratelimit/${VERSION}`, import.meta.url))

const GO_REMEDY = 'This test needs Go 1.24 or newer; on Debian 13 or newer: apt-get install golang-go'

export const buildRatelimit = async () => {
  const program = join(cache, 'service_cmd')
  const isBuilt = await access(program).then(
    () => true,
    () => false,
  )
  if (isBuilt) return program
  const module = `github.com/envoyproxy/ratelimit/src/service_cmd@${VERSION}`
  try {
    await promisify(execFile)('nice', ['go', 'install', module], {
      cwd: tmpdir(),
      env: { ...process.env, GOBIN: cache },
    })
  } catch (error) {
    throw new Error(GO_REMEDY, { cause: error })
  }
  return program
}

/** The folder of its sources. */
export const ratelimitSources = async () => {
  const module = `github.com/envoyproxy/ratelimit@${VERSION}`
  try {
    const { stdout } = await promisify(execFile)('go', ['mod', 'download', '-json', module], { cwd: tmpdir() })
    const { Dir } = JSON.parse(stdout) as { readonly Dir: string }
    return Dir
  } catch (error) {
    throw new Error(GO_REMEDY, { cause: error })
  }
}

/** Serves the configuration at the port. */
export const startRatelimit = async (program: string, configuration: string, redisPort: number) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-ratelimit-'))
  await mkdir(join(folder, 'ratelimit', 'config'), { recursive: true })
  await writeFile(join(folder, 'ratelimit', 'config', 'config.yaml'), configuration)
  const port = await freePort()
  const child = spawn(program, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      GRPC_HOST: '127.0.0.1',
      GRPC_PORT: `${port}`,
      HOST: '127.0.0.1',
      PORT: `${await freePort()}`,
      DEBUG_HOST: '127.0.0.1',
      DEBUG_PORT: `${await freePort()}`,
      DISABLE_STATS: 'true',
      RUNTIME_ROOT: folder,
      RUNTIME_SUBDIRECTORY: 'ratelimit',
      RUNTIME_WATCH_ROOT: 'false',
      REDIS_SOCKET_TYPE: 'tcp',
      REDIS_URL: `127.0.0.1:${redisPort}`,
    },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`envoyproxy/ratelimit ended: ${output}`)
    using client = openClient(`127.0.0.1:${port}`)
    const empty = Buffer.alloc(0)
    const health = {
      path: '/grpc.health.v1.Health/Check',
      requestSerialize: () => empty,
      responseDeserialize: (bytes: Buffer) => bytes,
    }
    return (await client.call(health, empty)).ok
  }, 60_000)
  return {
    port,
    pid: child.pid,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
      await rm(folder, { recursive: true, force: true })
    },
  }
}
