// npm start: limiter and API on this machine, on embedded stores, with keys to try; Ctrl-C or SIGTERM stops both.
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createApiKey, hashApiKey } from './api/identify/api-key.ts'
import type { Permission, Plan } from './api/identify/caller.ts'
import { formatKeyLine } from './api/identify/key-line.ts'

/** How long the API may drain before the limiter is told to stop as well, and both together before they are ended. */
const API_DRAIN_MS = 3_000
const STOP_MS = 4_500

type Exit = { readonly name: string; readonly code: number; readonly how: string }

const limiterProgram = fileURLToPath(new URL('limiter/main.ts', import.meta.url))
const apiProgram = fileURLToPath(new URL('api/main.ts', import.meta.url))
const demoPolicies = fileURLToPath(new URL('../deploy/policies.yaml', import.meta.url))

const demoKeys = [
  { label: 'free', plan: 'free', permissions: ['orders:read', 'orders:write'] },
  { label: 'pro', plan: 'pro', permissions: ['orders:read', 'orders:write'] },
  { label: 'read-only', plan: 'free', permissions: ['orders:read'] },
] as const satisfies readonly { label: string; plan: Plan; permissions: readonly Permission[] }[]

/** Makes the keys and puts their hashes into a file for the API. */
const writeDemoKeys = async (file: string) => {
  const keys = demoKeys.map(({ label, plan, permissions }) => {
    const { keyId, key } = createApiKey()
    const record = { keyId, hash: hashApiKey(key), owner: `demo-${label}`, plan, permissions: new Set(permissions) }
    return { label, key, line: formatKeyLine(record) }
  })
  await writeFile(file, keys.map(({ line }) => `${line}\n`).join(''), { mode: 0o600 })
  return keys
}

const run = async (): Promise<number> => {
  const stopRequested = Promise.withResolvers<void>()
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stopRequested.resolve())

  const folder = await mkdtemp(join(tmpdir(), 'weir-'))
  try {
    const keys = await writeDemoKeys(join(folder, 'api-keys'))
    await writeFile(join(folder, 'admin-token'), randomBytes(24).toString('hex'), { mode: 0o600 })
    const environment = {
      LIMITER_STORE: 'memory:',
      LIMITER_POLICIES: demoPolicies,
      LIMITER_ADMIN_TOKEN_FILE: join(folder, 'admin-token'),
      API_KEYS: join(folder, 'api-keys'),
      // The limiter and the API are beside each other: what one listens on is where the other asks.
      API_LIMITER: firstOf(process.env['LIMITER_ADDRESS']),
      LOG_LEVEL: 'warn',
      ...process.env,
    }

    const limiter = startProgram('limiter', limiterProgram, environment)
    if (!(await isServing(limiter, stopRequested.promise))) return stop([limiter])
    const api = startProgram('api', apiProgram, environment)
    if (!(await isServing(api, stopRequested.promise))) return stop([api, limiter])

    process.stdout.write(describe(environment, keys))
    const ended = await Promise.race([stopRequested.promise, limiter.exited, api.exited])
    if (ended !== undefined) process.stderr.write(`The ${ended.name} ended unexpectedly (${ended.how}): stopping.\n`)
    return await stop([api, limiter])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const firstOf = (addresses = '127.0.0.1:50051') => addresses.split(',')[0]

type Program = {
  readonly name: string
  readonly child: ChildProcess
  readonly started: Promise<void>
  readonly exited: Promise<Exit>
}

const startProgram = (name: string, program: string, environment: NodeJS.ProcessEnv): Program => {
  const child = spawn(process.execPath, [program], {
    env: environment,
    // The channel tells when the service is up, and the service that this process has ended.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A group of its own: Ctrl-C in the terminal reaches this process, which stops the two in order.
    detached: true,
  })
  return {
    name,
    child,
    started: new Promise((resolve) => child.once('message', () => resolve())),
    exited: new Promise((resolve) =>
      child.once('exit', (code, signal) =>
        resolve({ name, code: code ?? codeAfter(signal), how: signal ?? `exit code ${code}` }),
      ),
    ),
  }
}

/** A program that is told to stop before it listens for that has stopped as it should. */
const codeAfter = (signal: NodeJS.Signals | null) => (signal === 'SIGTERM' ? 0 : 1)

const isServing = ({ started, exited }: Program, stopRequested: Promise<void>) =>
  Promise.race([started.then(() => true), exited.then(() => false), stopRequested.then(() => false)])

/** Stops one after the other, the API before the limiter that it asks; the exit code is 0 if each ended well. */
const stop = async (programs: readonly Program[]) => {
  const deadline = setTimeout(() => {
    for (const { child } of programs) child.kill('SIGKILL')
  }, STOP_MS)
  for (const { child, exited } of programs) {
    child.kill('SIGTERM')
    await Promise.race([exited, new Promise((resolve) => setTimeout(resolve, API_DRAIN_MS).unref())])
  }
  const exits = await Promise.all(programs.map(({ exited }) => exited))
  clearTimeout(deadline)
  return exits.every(({ code }) => code === 0) ? 0 : 1
}

const describe = (
  environment: NodeJS.ProcessEnv,
  keys: readonly { readonly label: string; readonly key: string }[],
) => {
  const api = `http://${environment['API_ADDRESS'] ?? '127.0.0.1:8080'}`
  const limiterAdmin = `http://${environment['LIMITER_ADMIN_ADDRESS'] ?? '127.0.0.1:9091'}`
  const apiAdmin = `http://${environment['API_ADMIN_ADDRESS'] ?? '127.0.0.1:9092'}`
  const limiter = environment['LIMITER_ADDRESS'] ?? '127.0.0.1:50051'
  const ownKeys = process.env['API_KEYS'] !== undefined
  const free = ownKeys ? 'KEY' : keys.find(({ label }) => label === 'free')?.key
  const printedKeys = ownKeys
    ? `API keys: those of ${environment['API_KEYS']}`
    : keys.map(({ label, key }) => `API key (${label}): ${key}`).join('\n')
  const adminSettings = [
    ...(process.env['LIMITER_ADDRESS'] === undefined ? [] : [`LIMITER_ADDRESS=${limiter}`]),
    `LIMITER_ADMIN_TOKEN_FILE=${environment['LIMITER_ADMIN_TOKEN_FILE']}`,
  ].join(' ')
  return `
Weir is serving.

  API       ${api}   (probes and metrics: ${apiAdmin})
  Limiter   ${limiter}   gRPC weir.v1.RateLimit/ShouldAllow   (console, policies and metrics: ${limiterAdmin})
  Policies  ${environment['LIMITER_POLICIES']}   (edit them: they are in force after about a second)

${printedKeys}

Try:

  curl -i ${api}/v1/orders
  curl -i -H 'Authorization: Bearer ${free}' '${api}/v1/orders?limit=2'
  # 70 requests at once: the free plan's 60 tokens, then 429 until more flow in at 5 a second
  curl -s -o /dev/null -w '%{http_code} ' -H 'Authorization: Bearer ${free}' '${api}/v1/orders#[1-70]'; echo
  curl -s ${limiterAdmin}/policies
  ${adminSettings} npm run peek -- api client=user:demo-free plan=free

Ctrl-C stops both.
`
}

process.exitCode = await run()
