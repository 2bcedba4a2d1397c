import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { domainName } from '../contract/check.ts'
import { policyName } from '../contract/decision.ts'
import { createLimiter } from '../limiter/core/limiter.ts'
import { createMemoryStore } from '../limiter/core/memory-store.ts'
import { createRpcServer } from '../limiter/rpc/server.ts'
import { systemWallClock } from '../seams/clock.ts'

/** What the limiter of this fixture gives to each client. */
export const rule = { capacityTokens: 100, refillTokens: 50, periodS: 1 } as const

/** The real limiter with its memory store in a process of its own, so that it can be killed and stopped as a process. */
export const startLimiterProcess = async (port: number) => {
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), String(port)], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  await new Promise<void>((resolve, reject) => {
    child.once('message', () => resolve())
    child.once('exit', (code) => reject(new Error(`the limiter ended with ${code}`)))
  })
  return {
    signal: (name: 'SIGSTOP' | 'SIGCONT') => child.kill(name),
    kill: () => kill(child),
    [Symbol.asyncDispose]: () => kill(child),
  }
}

const kill = (child: ChildProcess) =>
  new Promise<void>((resolve) => {
    if (child.exitCode !== null || child.signalCode !== null) return resolve()
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })

/** A port that is free now. */
export const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const bound = server.address()
      server.close(() => resolve(typeof bound === 'object' && bound !== null ? bound.port : 0))
    })
  })

const serve = async (port: string | undefined) => {
  const domain = domainName('api')
  const policy = {
    kind: 'counting',
    name: policyName('per-client'),
    conditions: [],
    by: ['client'],
    rule,
    overrides: [],
    mode: 'enforce',
    onStoreFailure: 'share',
  } as const
  const limiter = createLimiter({
    policies: () => new Map([[domain, { domain, subject: 'client', policies: [policy] }]]),
    store: createMemoryStore(systemWallClock),
    observer: { answered: () => {}, uncountable: () => {} },
  })
  const bound = await createRpcServer({ limiter, admin: undefined }).listen(`127.0.0.1:${port}`)
  if (!bound.ok) throw bound.fault.error
  process.send?.('serving')
  // Its parent has ended: so must it.
  process.once('disconnect', () => process.exit(0))
}

if (import.meta.main) await serve(process.argv[2])
