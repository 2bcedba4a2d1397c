import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { packClient } from './pack-client.ts'
import { freePort, startService, until } from './platform/service.fixture.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const run = promisify(execFile)
let folder = ''

/** The package in a project that has nothing of this repository. */
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-app-'))
  const { dependencies } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8'))
  const tarball = await packClient(join(folder, 'packed'))
  await mkdir(join(folder, 'app'))
  await writeFile(join(folder, 'app/package.json'), JSON.stringify({ name: 'app', private: true, type: 'module' }))
  await run(
    'npm',
    ['install', '--no-audit', '--no-fund', '--loglevel=error', tarball, `fastify@${dependencies.fastify}`],
    {
      cwd: join(folder, 'app'),
    },
  )
}, 600_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

const startApp = async (source: string) => {
  await writeFile(join(folder, 'app/app.mjs'), source)
  const child: ChildProcess = spawn(process.execPath, ['app.mjs'], { cwd: join(folder, 'app'), stdio: 'inherit' })
  return {
    [Symbol.asyncDispose]: async () => {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The first example of the package's README. */
const readExample = async () => {
  const readme = await readFile(join(folder, 'app/node_modules/weir-client/README.md'), 'utf8')
  return /```js\n([\s\S]*?)```/.exec(readme)?.[1] ?? expect.fail('the README has no example')
}

test('the example of its README answers 429 as soon as a limiter says so', { timeout: 240_000 }, async () => {
  const [limiterPort, appPort] = [await freePort(), await freePort()]
  const started = await startService(join(root, 'services/limiter/main.ts'), {
    LIMITER_ADDRESS: `127.0.0.1:${limiterPort}`,
    LIMITER_ADMIN_ADDRESS: '127.0.0.1:0',
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: join(root, 'deploy/policies.yaml'),
  })
  if (!started.ok) return expect.fail(started.output)
  await using _limiter = started.service
  const example = await readExample()
  expect(example).toContain("'127.0.0.1:50051'")
  expect(example).toContain('3000')
  await using _app = await startApp(
    example.replace('127.0.0.1:50051', `127.0.0.1:${limiterPort}`).replace('3000', String(appPort)),
  )
  const get = () => fetch(`http://127.0.0.1:${appPort}/`).catch(() => undefined)
  let last: Response | undefined
  await until(async () => {
    last = await get()
    // The fallback, which decides while the limiter does not answer in time, has another policy.
    return last?.status === 429 && /^"anonymous";r=0;t=\d+$/.test(last.headers.get('ratelimit') ?? '')
  }, 120_000)
  expect(Number(last?.headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  expect(await last?.json()).toEqual({ error: expect.stringMatching(/^Rate limit exceeded: retry after \d+ second/) })
})

test('its types say what it takes', { timeout: 300_000 }, async () => {
  const check = async (source: string) => {
    await writeFile(join(folder, 'app/typed.ts'), source)
    const options = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
    const types = ['--typeRoots', join(root, 'node_modules/@types'), '--ignoreConfig']
    return run(join(root, 'node_modules/.bin/tsc'), [...options, ...types, 'typed.ts'], {
      cwd: join(folder, 'app'),
    }).then(
      () => '',
      (error) => String(error.stdout),
    )
  }
  const source = `
import { openLimiterClient } from 'weir-client'
import { domainName } from 'weir-client/check'
import { rateLimit } from 'weir-client/fastify'
import Fastify from 'fastify'
const limiter = openLimiterClient({ address: '127.0.0.1:50051' })
const { decision } = await limiter.shouldAllow({ domain: domainName('api'), attributes: new Map([['client', 'a']]), cost: 1 })
const verdict: 'allow' | 'deny' = decision.verdict
Fastify().register(rateLimit, { limiter, domain: 'api', attributes: ({ ip }) => ({ client: ip, verdict }) })
`
  expect(await check(source)).toBe('')
  expect(await check(source.replace("address: '127.0.0.1:50051'", 'address: 50051'))).toContain('TS2322')
})

test('it has exactly what it needs', async () => {
  const described = JSON.parse(await readFile(join(folder, 'app/node_modules/weir-client/package.json'), 'utf8'))
  expect(Object.keys(described.dependencies)).toEqual(['@grpc/proto-loader', 'fastify-plugin', 'lru-cache'])
  for (const version of Object.values(described.dependencies)) expect(version).toMatch(/^\d+\.\d+\.\d+$/)
})
