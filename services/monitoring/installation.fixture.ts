/** A whole installation as processes: limiters on one Redis, an API before them, and traffic. */
import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { freePort, type RunningService, startService, until } from '../platform/service.fixture.ts'

const program = (path: string) => fileURLToPath(new URL(path, import.meta.url))

export const policyText = `domain: api
subject: client
policies:
  - { name: anonymous, match: { plan: anonymous }, by: [client], capacity: 20, refill: 2/s }
  - { name: free, match: { plan: free }, by: [client], capacity: 60, refill: 5/s }
  - { name: rehearsed, match: { plan: anonymous }, by: [client], capacity: 5, refill: 1/s, mode: shadow }
  - { name: per-tenant, by: [tenant], capacity: 1000, refill: 100/s }
`

export type Process = {
  readonly service: RunningService
  readonly adminPort: number
  readonly page: (path: string) => Promise<string>
}

const start = async (path: string, adminPort: number, settings: Readonly<Record<string, string>>): Promise<Process> => {
  const started = await startService(program(path), settings)
  if (!started.ok) throw new Error(started.output)
  const page = async (of: string) => (await fetch(`http://127.0.0.1:${adminPort}${of}`)).text()
  return { service: started.service, adminPort, page }
}

type Options = {
  readonly limiters: number
  /** As `LIMITER_STORE`. */
  readonly store: string
  readonly limiterSettings?: Readonly<Record<string, string>>
  readonly apiSettings?: Readonly<Record<string, string>>
}

/** The API asks the first limiter. */
export const openInstallation = async ({ limiters: count, store, limiterSettings, apiSettings }: Options) => {
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-monitoring-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, policyText)

  const openLimiter = async () => {
    const [port, adminPort] = [await freePort(), await freePort()]
    const limiter = await start('../limiter/main.ts', adminPort, {
      LIMITER_ADDRESS: `127.0.0.1:${port}`,
      LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
      LIMITER_STORE: store,
      LIMITER_POLICIES: policies,
      ...limiterSettings,
    })
    stack.use(limiter.service)
    return { ...limiter, port }
  }
  const first = await openLimiter()
  const limiters = [first]
  while (limiters.length < count) limiters.push(await openLimiter())

  const key = `weir_${randomBytes(24).toString('base64url')}`
  const [apiPort, apiAdminPort] = [await freePort(), await freePort()]
  const api = await start('../api/main.ts', apiAdminPort, {
    API_ADDRESS: `127.0.0.1:${apiPort}`,
    API_ADMIN_ADDRESS: `127.0.0.1:${apiAdminPort}`,
    API_LIMITER: `127.0.0.1:${first.port}`,
    ...apiSettings,
  })
  stack.use(api.service)
  await until(async () => (await fetch(`http://127.0.0.1:${apiAdminPort}/readyz`)).ok, 60_000)
  const kept = stack.move()
  return {
    limiters,
    api,
    folder,
    policies,
    key,
    keyDigest: createHash('sha256').update(key).digest('hex'),
    get: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      fetch(`http://127.0.0.1:${apiPort}${path}`, { headers }),
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}
