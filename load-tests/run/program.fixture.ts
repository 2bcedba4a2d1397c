import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

/** `npm run load` with only the given settings, to its end. */
export const runLoad = async (options: readonly string[], settings: Readonly<Record<string, string>> = {}) => {
  const kept = ['PATH', 'HOME', 'WEIR_KUBE', 'K6'].flatMap((name) => {
    const value = process.env[name]
    return value === undefined ? [] : [[name, value]]
  })
  const env = { ...Object.fromEntries(kept), ...settings }
  const child = spawn(process.execPath, [program, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}
