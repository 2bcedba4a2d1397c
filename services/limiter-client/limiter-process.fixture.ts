import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const main = fileURLToPath(new URL('../limiter/main.ts', import.meta.url))

/** What the limiter of this fixture gives to each client. */
export const rule = { capacityTokens: 100, refillTokens: 50, periodS: 1 } as const

const policies = `
domain: api
subject: client
policies:
  - { name: per-client, by: [client], capacity: ${rule.capacityTokens}, refill: ${rule.refillTokens}/s }
`

type Options = { readonly host?: string; readonly settings?: Readonly<Record<string, string>> }

/** The real limiter in a process of its own, with its memory store, so that it can be killed and stopped as a process. */
export const startLimiterProcess = async (port: number, { host = '127.0.0.1', settings = {} }: Options = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-limiter-'))
  const policyFile = join(folder, 'policies.yaml')
  await writeFile(policyFile, policies)
  const child = spawn(process.execPath, [main], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      ...process.env,
      LIMITER_ADDRESS: `${host}:${port}`,
      LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
      LIMITER_STORE: 'memory:',
      LIMITER_POLICIES: policyFile,
      ...settings,
    },
  })
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code) => reject(new Error(`the limiter ended with ${code}`)))
  })
  return {
    signal: (name: 'SIGSTOP' | 'SIGCONT') => child.kill(name),
    kill: () => kill(child),
    /** As Kubernetes ends a pod: it drains. */
    terminate: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGTERM')
      await exited
    },
    [Symbol.asyncDispose]: async () => {
      await kill(child)
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const kill = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
