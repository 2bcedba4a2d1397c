import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { buildPythonEnvironment } from '../../platform/python-environment.fixture.ts'

const here = import.meta.dirname
const repository = fileURLToPath(new URL('../../..', import.meta.url))
const protoFolder = join(repository, 'proto')
/** Kept from run to run. */
const buildFolder = join(repository, '.cache', 'interop')

const GO_REMEDY = 'This test needs Go 1.24 or newer; on Debian 13 or newer: apt-get install golang-go'

/** Whatever JSON a client printed, as the test expects it; the test's assertions are what checks it. */
type Answers<Answer> = Promise<readonly Answer[]>

/** What a client makes of a reply; `response` is in protobuf's JSON, which writes 64-bit numbers as strings. */
export type ShouldAllowAnswer = {
  readonly code: number
  readonly details: string
  readonly response?: {
    readonly verdict: string
    readonly basis: string
    readonly policy?: string
    readonly quota?: Readonly<Record<string, string>>
    readonly retryAfterMs?: string
  }
}

export type ShouldAllow = (address: string, requests: readonly object[]) => Answers<ShouldAllowAnswer>

/** Builds what is missing or has changed. */
export const buildPythonClient = async (): Promise<ShouldAllow> => {
  const programs = await buildPythonEnvironment(join('interop', 'python'), join(here, 'requirements.txt'))
  return (address, requests) =>
    converse({
      program: join(programs, 'python'),
      options: [join(here, 'client.py'), address],
      environment: { PYTHONPATH: protoFolder },
      lines: requests.map((request) => JSON.stringify(request)),
    })
}

export type GoClient = {
  readonly shouldAllow: ShouldAllow
  readonly health: (address: string, components: readonly string[]) => Answers<unknown>
  readonly services: (address: string) => Answers<string>
  /** The fields of messages, as the limiter describes them. */
  readonly describe: (address: string, messages: readonly string[]) => Answers<readonly unknown[]>
}

export const buildGoClient = async (): Promise<GoClient> => {
  const program = join(buildFolder, 'go', 'client')
  const build = ['build', '-mod=readonly', '-buildvcs=false', '-o', program, '.']
  await run({ program: 'go', options: build, remedy: GO_REMEDY })
  const command = <Answer>(name: string, address: string, lines: readonly string[]) =>
    converse<Answer>({ program, options: [address, name], environment: { PROTO_PATH: protoFolder }, lines })
  return {
    shouldAllow: (address, requests) =>
      command(
        'ask',
        address,
        requests.map((request) => JSON.stringify(request)),
      ),
    health: (address, components) => command('health', address, components),
    services: (address) => command('services', address, []),
    describe: (address, messages) => command('describe', address, messages),
  }
}

type Conversation = {
  readonly program: string
  readonly options: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  readonly lines: readonly string[]
}

/** The environment is only what is given: a proxy's variables would send the client there. */
const converse = async <Answer>({ lines, ...client }: Conversation): Answers<Answer> => {
  const printed = await run({ ...client, input: lines.map((line) => `${line}\n`).join('') })
  return printed
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

type Run = {
  readonly program: string
  readonly options: readonly string[]
  /** What a person can do about a program that is missing or fails. */
  readonly remedy?: string
  readonly environment?: Readonly<Record<string, string>>
  readonly input?: string
}

const run = async ({ program, options, remedy, environment, input = '' }: Run) => {
  const running = promisify(execFile)(program, options, { cwd: here, env: environment ?? process.env })
  // A program that ends without reading says why on standard error.
  running.child.stdin?.on('error', () => {}).end(input)
  try {
    return (await running).stdout
  } catch (error) {
    throw remedy === undefined ? error : new Error(remedy, { cause: error })
  }
}
