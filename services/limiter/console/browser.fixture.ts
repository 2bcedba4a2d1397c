/** Debian's Chromium, and a limiter process with traffic for its console. */
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type BrowserContextOptions, chromium } from 'playwright-core'
import { freePort, startService } from '../../platform/service.fixture.ts'
import { openTemporaryFolder } from '../policies/temporary-folder.fixture.ts'
import { openClient } from '../rpc/server.fixture.ts'

const program = fileURLToPath(new URL('../main.ts', import.meta.url))

export const TOKEN = 'open sesame'

const LIVE = `domain: api
subject: client
policies:
  - { name: anonymous, match: { plan: anonymous }, capacity: 20, refill: 2/s }
  - { name: free, match: { plan: free }, capacity: 60, refill: 5/s }
  - { name: pro, match: { plan: pro }, capacity: 600, refill: 50/s }
  - { name: writes, match: { method: [POST, PUT, PATCH, DELETE] }, by: [client, route], capacity: 20, refill: 10/s, mode: shadow }
  - { name: document, match: { route: "GET /v1/openapi.json" }, exempt: true }
overrides:
  - { policy: free, client: "user:acme", capacity: 500, refill: 100/s }
`
const CANDIDATE = LIVE.replace('capacity: 60, refill: 5/s', 'capacity: 40, refill: 3/s').replace(
  'capacity: 20, refill: 2/s',
  'capacity: 30, refill: 4/s',
)

export const openConsoleOf = async ({ withToken = true } = {}) => {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await openTemporaryFolder())
  await writeFile(folder.at('live.yaml'), LIVE)
  await writeFile(folder.at('candidate.yaml'), CANDIDATE)
  await writeFile(folder.at('token'), TOKEN)
  const [port, adminPort] = [await freePort(), await freePort()]
  const started = await startService(program, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: folder.at('live.yaml'),
    LIMITER_CANDIDATE_POLICIES: folder.at('candidate.yaml'),
    ...(withToken && { LIMITER_ADMIN_TOKEN_FILE: folder.at('token') }),
  })
  if (!started.ok) throw new Error(started.output)
  stack.use(started.service)
  const client = stack.use(openClient(`127.0.0.1:${port}`))
  const ask = (attributes: Readonly<Record<string, string>>) => client.shouldAllow({ domain: 'api', attributes })
  const kept = stack.move()
  return {
    url: `http://127.0.0.1:${adminPort}/`,
    ask,
    output: started.service.output,
    edit: (text: string) => writeFile(folder.at('live.yaml'), text),
    live: LIVE,
    stop: started.service.stop,
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}
type Console = Awaited<ReturnType<typeof openConsoleOf>>

const callers = [
  { client: 'user:greedy', plan: 'free', everyMs: 40 },
  { client: 'ip:198.51.100.7', plan: 'anonymous', everyMs: 60 },
  { client: 'ip:203.0.113.40', plan: 'anonymous', everyMs: 150 },
  { client: 'user:polite', plan: 'free', everyMs: 400 },
  { client: 'user:acme', plan: 'free', everyMs: 30 },
  { client: 'user:store', plan: 'pro', everyMs: 35 },
] as const

/** Some callers that ask for more than they get, and some that do not, until its disposal. */
export const startCallers = ({ ask }: Console): Disposable => {
  const timers = callers.map(({ everyMs, ...attributes }) => setInterval(() => void ask(attributes), everyMs))
  return {
    [Symbol.dispose]: () => {
      for (const timer of timers) clearInterval(timer)
    },
  }
}

const onPath = (program: string) =>
  (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, program))
    .find((path) => existsSync(path))

export const launchBrowser = () =>
  chromium.launch({
    executablePath: onPath('chromium') ?? 'chromium',
    args: ['--no-sandbox', '--disable-dev-shm-usage'],
  })
type Browser = Awaited<ReturnType<typeof launchBrowser>>

/** A page, and everything that it had to complain of: violations of the CSP, errors, answers that were no success, addresses elsewhere. */
export const openPage = async (browser: Browser, url: string, options: BrowserContextOptions = {}) => {
  const context = await browser.newContext(options)
  const page = await context.newPage()
  const complaints: string[] = []
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) complaints.push(`asked ${request.url()}`)
  })
  await page.goto(url)
  return { page, complaints, [Symbol.asyncDispose]: () => context.close() }
}
