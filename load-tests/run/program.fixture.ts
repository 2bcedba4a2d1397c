import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

/** What a run is told by its environment: none of it is the test's own. */
const TOLD = /^(BASE_URL|API_KEYS?|RATE|DURATION_S|P99_MS|OUT|FAULTS|METRICS_URLS|OVER_TOKENS|REQUEST_PATH)$/

/** `npm run load` with only the given settings, to its end. */
export const runLoad = async (options: readonly string[], settings: Readonly<Record<string, string>> = {}) => {
  const inherited = Object.entries(process.env).filter(([name]) => !TOLD.test(name))
  const env = { ...Object.fromEntries(inherited), ...settings }
  const child = spawn(process.execPath, [program, ...options], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve))
  return { code, output }
}
