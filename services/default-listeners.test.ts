// Who is told nothing of addresses is reached from this machine alone. Each service runs in a network of its own: all that listens there is its.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'

const POLICIES = 'domain: api\nsubject: client\npolicies:\n  - { name: per-client, capacity: 5, refill: 1/s }\n'
const LISTENING = '0A'

let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-listeners-'))
  await writeFile(join(folder, 'policies.yaml'), POLICIES)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Where programs of this process's network listen, as the kernel writes it: `0100007F:C383` is 127.0.0.1:50051. */
const listenersOf = async (pid: number | undefined) => {
  const tables = await Promise.all(['tcp', 'tcp6'].map((name) => readFile(`/proc/${pid}/net/${name}`, 'utf8')))
  return tables
    .flatMap((table) => table.split('\n').slice(1))
    .map((line) => line.trim().split(/\s+/))
    .flatMap(([, local = '', , state]) => (state === LISTENING ? [local] : []))
}

const LOOPBACK = /^(0100007F|00000000000000000000000001000000):/

const startAlone = (command: string, settings: Readonly<Record<string, string>>) => {
  const child = spawn('unshare', ['--map-root-user', '--net', 'sh', '-c', `ip link set lo up; exec ${command}`], {
    env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...settings },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = once(child, 'close')
  return {
    serves: Promise.race([once(child, 'message'), ended.then(() => Promise.reject(new Error(output)))]),
    listeners: () => listenersOf(child.pid),
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await ended
    },
  }
}

test.each([
  ['the limiter', 'limiter/main.ts', 2],
  ['the API', 'api/main.ts', 2],
])('%s listens on no address but this machine’s own by default', async (_, program, count) => {
  const path = fileURLToPath(new URL(program, import.meta.url))
  await using service = startAlone(`'${process.execPath}' '${path}'`, {
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: join(folder, 'policies.yaml'),
  })
  await service.serves
  const listeners = await service.listeners()
  expect(listeners).toHaveLength(count)
  for (const address of listeners) expect(address).toMatch(LOOPBACK)
})
