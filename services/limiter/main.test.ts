import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { status } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { createAuthority } from '../platform/certificates.fixture.ts'
import { listensLate } from '../platform/late-port.fixture.ts'
import { freePort, startService, until } from '../platform/service.fixture.ts'
import { openClient } from './rpc/server.fixture.ts'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

const policies = (capacity: number | string, refill = '1/min') =>
  `domain: api\nsubject: client\npolicies:\n  - { name: per-client, capacity: ${capacity}, refill: ${refill} }\n`

/** The limiter as a process, with a policy file to edit. */
const openLimiter = async (text: string, more: Readonly<Record<string, string>> = {}) => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-limiter-'))
  const file = join(folder, 'policies.yaml')
  await writeFile(file, text)
  const [port, adminPort] = [await freePort(), await freePort()]
  const started = await startService(program, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: file,
    ...more,
  })
  if (!started.ok) throw new Error(started.output)
  const client = openClient(`127.0.0.1:${port}`)
  return {
    ...started.service,
    client,
    port,
    adminPort,
    edit: (next: string) => writeFile(file, next),
    admin: async (path: string) => fetch(`http://127.0.0.1:${adminPort}${path}`),
    [Symbol.asyncDispose]: async () => {
      client[Symbol.dispose]()
      await started.service[Symbol.asyncDispose]()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

const ISO_TIME = expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/)

type AuditLine = Readonly<Record<string, unknown>> & { readonly event: string }

/** The log's lines whose event begins so. */
const audited = ({ output }: { readonly output: () => string }, event: string) =>
  output()
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line): Partial<AuditLine> => JSON.parse(line))
    .filter((line): line is AuditLine => line.event?.startsWith(event) === true)

const ask = (client: string, cost = 1) => ({ domain: 'api', attributes: { client }, cost })

test('a limiter is ready only once it listens', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-limiter-'))
  const file = join(folder, 'policies.yaml')
  await writeFile(file, policies(5))
  const [port, adminPort] = [await freePort(), await freePort()]
  const starting = startService(program, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: file,
    ...listensLate(port),
  })
  let hasStarted = false
  void starting.then(() => {
    hasStarted = true
  })
  const isReady = async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined))?.ok === true
  while (!(await isReady())) if (hasStarted) break
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.destroy()
  const started = await starting
  if (!started.ok) throw new Error(started.output)
  await started.service[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

test('an edited policy file is in force without a restart; a wrong one leaves the last good one in force and says why', async () => {
  await using limiter = await openLimiter(policies(5))
  const limitOf = async () => {
    const reply = await limiter.client.shouldAllow(ask('a', 0))
    return reply.ok && reply.response.quota?.limit
  }
  expect(await limitOf()).toBe(5)
  await limiter.edit(policies(7))
  await until(async () => (await limitOf()) === 7)
  await limiter.edit(policies('lots'))
  await until(() => limiter.output().includes('policies rejected'))
  expect(limiter.output()).toMatch(/policies\.yaml:4:\d+ policies\[0\]\.capacity/)
  expect(await limitOf()).toBe(7)
  expect(await (await limiter.admin('/policies')).json()).toMatchObject({
    generation: 2,
    lastReload: 'rejected',
    domains: [{ domain: 'api' }],
  })
  await limiter.edit(policies(9))
  await until(async () => (await limitOf()) === 9)
  expect(await (await limiter.admin('/metrics')).text()).toContain('weir_policy_generation 3\n')
})

test('every load, reload and refused reload leaves one audit line: what changed, of which generation, and who did it', async () => {
  await using limiter = await openLimiter(policies(5))
  await limiter.edit(policies(7).replace('per-client', 'renamed'))
  await until(() => audited(limiter, 'policies.reloaded').length === 1)
  await limiter.edit(policies('lots'))
  await until(() => audited(limiter, 'policies.rejected').length === 1)
  await limiter.edit(policies(9).replace('per-client', 'renamed'))
  await until(() => audited(limiter, 'policies.reloaded').length === 2)
  const lines = audited(limiter, 'policies.')
  const none = { added: [], changed: [], removed: [], unsaid: 0 }
  expect(lines).toMatchObject([
    { event: 'policies.loaded', generationBefore: 0, generation: 1, ...none, added: ['api/per-client'] },
    {
      event: 'policies.reloaded',
      generationBefore: 1,
      generation: 2,
      added: ['api/renamed'],
      removed: ['api/per-client'],
    },
    { event: 'policies.rejected', generationBefore: 2, generation: 2, problems: [expect.stringContaining('capacity')] },
    { event: 'policies.reloaded', generationBefore: 2, generation: 3, ...none, changed: ['api/renamed'] },
  ])
  const digests = new Set(lines.map(({ digest }) => digest))
  expect(digests.size).toBe(3)
  for (const line of lines)
    expect(line).toMatchObject({ by: 'policy files', source: expect.stringContaining('policies.yaml'), time: ISO_TIME })
})

test('every reset leaves one audit line, also one that was refused; a call without the token leaves none', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'open sesame\n')
  await using limiter = await openLimiter(policies(5), { LIMITER_ADMIN_TOKEN_FILE: tokenFile })
  const reset = (policy: string, token: string) =>
    limiter.client.reset({ domain: 'api', attributes: { client: 'user:acme' }, policy }, token)
  await reset('per-client', 'open sesame')
  await reset('another', 'open sesame')
  await reset('per-client', 'close sesame')
  await until(() => limiter.output().includes('admin call without the token'))
  const asked = { domain: 'api', attributes: { client: 'user:acme' } }
  const who = { by: 'admin token', peer: expect.stringMatching(/^127\.0\.0\.1:\d+$/), time: ISO_TIME, generation: 1 }
  expect(audited(limiter, 'bucket.reset')).toMatchObject([
    { ...who, result: 'done', policies: ['per-client'], asked },
    { ...who, result: 'invalid', policies: [], asked },
  ])
  expect(limiter.output()).not.toContain('sesame')
  await rm(folder, { recursive: true, force: true })
})

test('the admin port answers probes and metrics', async () => {
  await using limiter = await openLimiter(policies(5))
  await limiter.client.shouldAllow(ask('a'))
  expect((await limiter.admin('/livez')).status).toBe(200)
  expect((await limiter.admin('/readyz')).status).toBe(200)
  const metrics = await (await limiter.admin('/metrics')).text()
  expect(metrics).toContain('weir_decisions_total{domain="api",policy="per-client",verdict="allow",basis="bucket"} 1\n')
})

test('/top names whom policies refused most', async () => {
  await using limiter = await openLimiter(policies(5))
  for (let asked = 0; asked < 9; asked += 1) await limiter.client.shouldAllow(ask('greedy'))
  await limiter.client.shouldAllow(ask('polite'))
  const greedy = [{ subject: 'greedy', refusedAtLeast: 4, refusedAtMost: 4 }]
  expect(await (await limiter.admin('/top')).json()).toEqual({
    lastMinutes: expect.any(Number),
    overall: greedy,
    policies: [{ domain: 'api', policy: 'per-client', offenders: greedy }],
  })
})

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s under load drains: no call fails that was taken, the exit code is 0 within 5 s',
  async (signal) => {
    await using limiter = await openLimiter(policies(4_000_000, '1000000/s'))
    let stopping = false
    const codes = new Set<number>()
    const caller = async (name: string) => {
      for (;;) {
        const reply = await limiter.client.shouldAllow(ask(name))
        if (reply.ok) continue
        codes.add(reply.error.code)
        if (stopping) return
      }
    }
    const callers = Array.from({ length: 50 }, (_, index) => caller(`c${index}`))
    await limiter.client.shouldAllow(ask('warm'))
    stopping = true
    const { code, elapsedMs } = await limiter.stop(signal)
    expect(code).toBe(0)
    expect(elapsedMs).toBeLessThan(5_000)
    await Promise.all(callers)
    // Refused as not taken: a caller may ask elsewhere without being charged twice.
    expect([...codes]).toEqual([status.UNAVAILABLE])
    expect(limiter.output()).not.toContain('"level":50')
  },
)

test('every wrong setting is told in one message, and the exit code is 1', async () => {
  const ended = await startService(program, { LIMITER_ADDRESS: 'nowhere', LIMITER_STORE: 'mysql:', LOG_LEVEL: 'loud' })
  expect(ended).toMatchObject({ ok: false, code: 1 })
  if (ended.ok) return
  for (const name of ['LIMITER_ADDRESS', 'LIMITER_STORE', 'LIMITER_POLICIES', 'LOG_LEVEL'])
    expect(ended.output).toContain(`- ${name} is`)
  expect(ended.output).not.toMatch(/\n\s+at /)
})

test('a port in use is one clear message, and the exit code is 1', async () => {
  await using limiter = await openLimiter(policies(5))
  const settings = {
    LIMITER_STORE: 'memory:',
    LIMITER_POLICIES: join(import.meta.dirname, '../../deploy/policies.yaml'),
  }
  const adminPort = `${await freePort()}`
  const onGrpc = await startService(program, {
    ...settings,
    LIMITER_ADDRESS: `127.0.0.1:${limiter.port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
  })
  expect(onGrpc).toMatchObject({
    ok: false,
    code: 1,
    output: expect.stringMatching(/LIMITER_ADDRESS: cannot listen on 127\.0\.0\.1:\d+: another process uses it/),
  })
  const onAdmin = await startService(program, { ...settings, LIMITER_ADMIN_ADDRESS: `127.0.0.1:${limiter.adminPort}` })
  expect(onAdmin).toMatchObject({
    ok: false,
    code: 1,
    output: expect.stringMatching(/LIMITER_ADMIN_ADDRESS: cannot listen on/),
  })
})

test('a bad policy file is one message with every address, and the exit code is 1', async () => {
  await expect(openLimiter(policies('lots', 'often'))).rejects.toThrow(
    /policies\.yaml:4:\d+ policies\[0\]\.capacity[^\n]*\n[^\n]*policies\[0\]\.refill/,
  )
})

test('peek and reset work from the command line, with the token', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
  const tokenFile = join(folder, 'token')
  await writeFile(tokenFile, 'open sesame\n')
  await using limiter = await openLimiter(policies(5), { LIMITER_ADMIN_TOKEN_FILE: tokenFile })
  const command = async (...options: readonly string[]) => {
    const env = { ...process.env, LIMITER_ADDRESS: `127.0.0.1:${limiter.port}`, LIMITER_ADMIN_TOKEN_FILE: tokenFile }
    return new Promise((resolve) => {
      execFile(
        process.execPath,
        [join(import.meta.dirname, 'admin.ts'), ...options],
        { env },
        (error, stdout, stderr) => resolve({ code: error?.code ?? 0, text: stdout + stderr }),
      )
    })
  }
  await limiter.client.shouldAllow(ask('a', 5))
  expect(await command('peek', 'api', 'client=a')).toEqual({
    code: 0,
    text: expect.stringContaining('per-client: 0 of 5 left'),
  })
  expect(await command('reset', 'api', 'client=a')).toEqual({ code: 0, text: 'full now: per-client\n' })
  expect(await command('peek', 'api', 'client=a')).toEqual({
    code: 0,
    text: 'per-client: 5 of 5 left, full in 0 s, refilled by 1 per 60 s\n',
  })
  expect(await command('peek', 'shop', 'client=a')).toEqual({ code: 1, text: expect.stringContaining('known: api') })
  expect(await command('peek')).toEqual({ code: 1, text: expect.stringContaining('usage: npm run peek') })
  await until(() => limiter.output().includes('bucket.reset'))
  expect(limiter.output()).not.toContain('sesame')
  await rm(folder, { recursive: true, force: true })
})

test('peek and reset reach a limiter that wants TLS and a certificate; with the wrong ones they say so', async () => {
  using authority = createAuthority()
  using stranger = createAuthority()
  const [server, caller] = [authority.issue('limiter'), authority.issue('operator')]
  const folder = await mkdtemp(join(tmpdir(), 'weir-token-'))
  await using _folder = { [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
  const LIMITER_ADMIN_TOKEN_FILE = join(folder, 'token')
  await writeFile(LIMITER_ADMIN_TOKEN_FILE, 'open sesame')
  const served = { LIMITER_TLS_CERT: server.cert, LIMITER_TLS_KEY: server.key, LIMITER_TLS_CLIENT_CA: authority.ca }
  await using limiter = await openLimiter(policies(5), { ...served, LIMITER_ADMIN_TOKEN_FILE })
  const run = (name: string, tls: Readonly<Record<string, string>>) =>
    new Promise((resolve) => {
      const LIMITER_ADDRESS = `127.0.0.1:${limiter.port}`
      const env = { PATH: process.env['PATH'], LIMITER_ADDRESS, LIMITER_ADMIN_TOKEN_FILE, ...tls }
      const argv = [join(import.meta.dirname, 'admin.ts'), name, 'api', 'client=a']
      execFile(process.execPath, argv, { env }, (error, stdout, stderr) =>
        resolve({ code: error?.code ?? 0, text: stdout + stderr }),
      )
    })
  const identity = { LIMITER_TLS_CERT: caller.cert, LIMITER_TLS_KEY: caller.key }
  const tls = { ...identity, LIMITER_TLS_CA: authority.ca }
  expect(await run('peek', tls)).toEqual({ code: 0, text: expect.stringContaining('per-client: 5 of 5 left') })
  expect(await run('reset', { ...tls, LIMITER_TLS_NAME: 'localhost' })).toMatchObject({ code: 0 })

  const away = { code: 1, text: expect.stringContaining('are LIMITER_ADDRESS and LIMITER_TLS_CA right?') }
  expect(await run('peek', identity)).toEqual(away)
  expect(await run('peek', { LIMITER_TLS_CA: authority.ca })).toEqual(away)
  expect(await run('peek', { ...tls, LIMITER_TLS_CA: stranger.ca })).toEqual(away)
  expect(await run('peek', { ...tls, LIMITER_TLS_NAME: 'elsewhere' })).toEqual(away)
  expect(await run('peek', { ...tls, LIMITER_TLS_CA: '/nowhere.pem' })).toEqual({
    code: 1,
    text: '/nowhere.pem holds no certificate in PEM\n',
  })
}, 60_000)

test('renewed TLS files are in force without a restart; wrong ones leave the last good ones in force and say why', async () => {
  using authority = createAuthority()
  const folder = await mkdtemp(join(tmpdir(), 'weir-tls-'))
  const [cert, key] = [join(folder, 'tls.crt'), join(folder, 'tls.key')]
  const install = async ({ certText, keyText }: ReturnType<typeof authority.issue>) => {
    await writeFile(key, keyText)
    await writeFile(cert, certText)
  }
  await install(authority.issue('first'))
  await using limiter = await openLimiter(policies(5), { LIMITER_TLS_CERT: cert, LIMITER_TLS_KEY: key })
  const shownName = () =>
    new Promise<unknown>((resolve, reject) => {
      const options = { port: limiter.port, host: '127.0.0.1', ca: authority.caText, ALPNProtocols: ['h2'] }
      const socket = connectTls(options, () => {
        resolve(socket.getPeerCertificate().subject.CN)
        socket.destroy()
      })
      socket.once('error', reject)
    })
  expect(await shownName()).toBe('first')
  await writeFile(cert, 'hello')
  await until(() => limiter.output().includes('TLS files rejected'))
  expect(limiter.output()).toContain('tls.crt holds no certificate')
  expect(await shownName()).toBe('first')
  await install(authority.issue('second'))
  await until(async () => (await shownName()) === 'second')
  const metrics = await (await limiter.admin('/metrics')).text()
  expect(metrics).toMatch(/weir_tls_certificate_expires_timestamp_seconds \d{10}/)
  expect(metrics).toMatch(/weir_tls_reloads_total\{result="rejected"\} [1-9]/)
  await rm(folder, { recursive: true })
}, 240_000)

test('half of the TLS files, or a wrong one, is told, and the exit code is 1', async () => {
  const started = await startService(program, {
    LIMITER_POLICIES: '/nowhere.yaml',
    LIMITER_STORE: 'memory:',
    LIMITER_TLS_CERT: '/nowhere.pem',
  })
  expect(started).toMatchObject({ ok: false, code: 1, output: expect.stringContaining('LIMITER_TLS_KEY: set both') })
}, 240_000)
