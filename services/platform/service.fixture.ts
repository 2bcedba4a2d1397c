/** Services as processes, as an operator runs them. */
import { type ChildProcess, spawn } from 'node:child_process'
import { createServer } from 'node:net'

export type RunningService = AsyncDisposable & {
  readonly process: ChildProcess
  /** Everything written so far. */
  readonly output: () => string
  /** Sends the signal and waits for the end. */
  readonly stop: (signal?: NodeJS.Signals) => Promise<{ readonly code: number | null; readonly elapsedMs: number }>
}

export type ServiceEnd = { readonly ok: false; readonly code: number | null; readonly output: string }

/** Starts a program with only the given settings; resolves when it serves, or when it has ended instead. */
export const startService = async (
  program: string,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly ok: true; readonly service: RunningService } | ServiceEnd> => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...settings }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  const serves = await Promise.race([
    new Promise<true>((resolve) => child.once('message', () => resolve(true))),
    ended.then(() => false),
  ])
  if (!serves) return { ok: false, code: await ended, output }
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    const startMs = performance.now()
    child.kill(signal)
    const code = await ended
    return { code, elapsedMs: performance.now() - startMs }
  }
  return {
    ok: true,
    service: {
      process: child,
      output: () => output,
      stop,
      [Symbol.asyncDispose]: async () => {
        if (child.exitCode === null && child.signalCode === null) await stop('SIGKILL')
      },
    },
  }
}

/** A port that nobody listens on now. */
export const freePort = () =>
  new Promise<number>((resolve, reject) => {
    const server = createServer()
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })

/** Waits until the condition holds; fails after the deadline. */
export const until = async (condition: () => boolean | Promise<boolean>, deadlineMs = 20_000) => {
  for (const end = performance.now() + deadlineMs; !(await condition()); ) {
    if (performance.now() > end) throw new Error(`not true within ${deadlineMs} ms: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
