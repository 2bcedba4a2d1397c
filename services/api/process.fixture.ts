import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, vi } from 'vitest'

export const apiProgram = fileURLToPath(new URL('main.ts', import.meta.url))
export const limiterProgram = fileURLToPath(new URL('../limiter/main.ts', import.meta.url))

export type Program = AsyncDisposable & {
  readonly child: ChildProcess
  readonly stdout: () => string
  readonly stderr: () => string
  /** The exit code. */
  readonly exited: Promise<number | null>
}

export const startProgram = (program: string, environment: Readonly<Record<string, string>>): Program => {
  const child = spawn(process.execPath, [program], {
    env: { PATH: process.env['PATH'] ?? '', ...environment },
    // The channel ends the service with whoever started it.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let stdout = ''
  let stderr = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const exited = once(child, 'close').then(() => child.exitCode)
  return {
    child,
    stdout: () => stdout,
    stderr: () => stderr,
    exited,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** What a service says when it serves: the line of its log. One that ends instead fails with what it wrote. */
const servingLine = async (program: Program): Promise<Record<string, unknown>> => {
  const serves = await Promise.race([once(program.child, 'message').then(() => true), program.exited.then(() => false)])
  if (!serves) expect.fail(`not serving: ${program.stderr()}${program.stdout()}`)
  const line = await vi.waitFor(
    () =>
      program
        .stdout()
        .split('\n')
        .find((text) => text.includes('"serving"')) ?? expect.fail('the log has not arrived'),
    { timeout: 20_000 },
  )
  return JSON.parse(line)
}

/** An API on ports of the system's choice. */
export const startApi = async (environment: Readonly<Record<string, string>>) => {
  const program = startProgram(apiProgram, {
    API_ADDRESS: '127.0.0.1:0',
    API_ADMIN_ADDRESS: '127.0.0.1:0',
    // Nobody's: on the port that is the default there may be somebody's limiter.
    API_LIMITER: '127.0.0.1:1',
    ...environment,
  })
  const { address, admin } = await servingLine(program)
  return { ...program, url: `http://${address}`, adminUrl: `http://${admin}` }
}

export const startLimiter = async (port: number, policies: string) => {
  const program = startProgram(limiterProgram, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: policies,
  })
  await servingLine(program)
  return program
}

export const openFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'weir-api-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true }) }
}
