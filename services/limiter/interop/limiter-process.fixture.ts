import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort } from '../../platform/service.fixture.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))

const STOP_DEADLINE_MS = 10_000

/** The limiter as a process of its own. Disposing of it sends SIGTERM, and throws unless it ends with 0. */
export const startLimiter = async (policies: string) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-interop-'))
  const policyFile = join(folder, 'policies.yaml')
  await writeFile(policyFile, policies)
  const address = `127.0.0.1:${await freePort()}`
  const child = fork(program, {
    execArgv: [],
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    env: {
      LIMITER_ADDRESS: address,
      LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
      LIMITER_STORE: 'memory:',
      LIMITER_POLICIES: policyFile,
    },
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    // Longer than the limiter allows itself.
    const kill = setTimeout(() => child.kill('SIGKILL'), STOP_DEADLINE_MS)
    const [code, signal] = await ended
    clearTimeout(kill)
    await rm(folder, { recursive: true })
    if (code !== 0) throw new Error(`the limiter ended with ${code ?? signal} instead of 0`)
  }
  // It says so once it listens; before that it ends only because it could not start.
  const [message] = await Promise.race([once(child, 'message'), ended])
  if (message !== 'started') await stop()
  return { address, [Symbol.asyncDispose]: stop }
}
