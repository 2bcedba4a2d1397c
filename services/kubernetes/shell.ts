import { spawn } from 'node:child_process'

export type Ran = { readonly code: number; readonly stdout: string; readonly stderr: string }

type Options = { readonly input?: string; readonly deadlineMs?: number; readonly env?: NodeJS.ProcessEnv }

const DEADLINE_MS = 60_000

/** Runs a program to its end; one that takes longer than its deadline is ended, with a code that is not 0. */
export const run = (command: string, args: readonly string[], options: Options = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const { input, deadlineMs = DEADLINE_MS, env = process.env } = options
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] })
    const deadline = setTimeout(() => child.kill('SIGKILL'), deadlineMs)
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => (stderr += chunk))
    const settle = (code: number, fault = '') => {
      clearTimeout(deadline)
      resolve({ code, stdout, stderr: stderr + fault })
    }
    child.once('error', (error) => settle(127, error.message))
    child.once('close', (code, signal) => settle(code ?? 128, signal === null ? '' : `\nended by ${signal}`))
    // A program that has ended reads no more.
    child.stdin.on('error', () => {})
    child.stdin.end(input ?? '')
  })

/** For what must not fail: throws with what the program said. */
export const runOrThrow = async (command: string, args: readonly string[], options: Options = {}) => {
  const ran = await run(command, args, options)
  if (ran.code !== 0)
    throw new Error(`${command} ${args.join(' ').slice(0, 400)} ended with ${ran.code}:\n${ran.stderr || ran.stdout}`)
  return ran.stdout
}
