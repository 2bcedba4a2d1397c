// The API as a process, in front of a real limiter.

import { writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { allow, openScriptedLimiter } from '../limiter-client/scripted-limiter.fixture.ts'
import { listensLate } from '../platform/late-port.fixture.ts'
import { freePort } from '../platform/service.fixture.ts'
import { makeKey } from './app.fixture.ts'
import { formatKeyLine } from './identify/key-line.ts'
import { apiProgram, openFolder, startApi, startLimiter, startProgram } from './process.fixture.ts'

const policies = `
domain: api
subject: client
policies:
  - { name: anonymous, match: { plan: anonymous }, by: [client], capacity: 3, refill: 1/min }
  - { name: free, match: { plan: free }, by: [client], capacity: 1000, refill: 100/s }
`

const ready = async (adminUrl: string) => (await fetch(`${adminUrl}/readyz`)).status

const prepare = async (folder: string, policyText = policies) => {
  const key = makeKey('acme', 'orders:read', 'orders:write')
  await writeFile(join(folder, 'policies.yaml'), policyText)
  await writeFile(join(folder, 'keys'), formatKeyLine(key.record))
  return { key, policyFile: join(folder, 'policies.yaml'), keyFile: join(folder, 'keys'), port: await freePort() }
}

test('a request is identified, asked about and refused when the limiter says so', async () => {
  await using folder = await openFolder()
  const { key, policyFile, keyFile, port } = await prepare(folder.path)
  await using _limiter = await startLimiter(port, policyFile)
  await using api = await startApi({
    API_LIMITER: `127.0.0.1:${port}`,
    API_KEYS: keyFile,
    API_LIMITER_DEADLINE_MS: '2000',
  })
  await vi.waitFor(async () => expect(await ready(api.adminUrl)).toBe(200))

  const statuses: number[] = []
  for (let index = 0; index < 3; index += 1) statuses.push((await fetch(`${api.url}/v1/nowhere`)).status)
  expect(statuses).toEqual([404, 404, 404])
  const refused = await fetch(`${api.url}/v1/nowhere`)
  expect(refused.status).toBe(429)
  expect(refused.headers.get('content-type')).toBe('application/json')
  const wait = Number(refused.headers.get('retry-after'))
  expect(wait).toBeGreaterThanOrEqual(55)
  expect(wait).toBeLessThanOrEqual(60)
  expect(refused.headers.get('ratelimit-limit')).toBe('3')
  expect(refused.headers.get('ratelimit-remaining')).toBe('0')
  expect(refused.headers.get('ratelimit-reset')).toMatch(/^\d+$/)
  expect(await refused.json()).toEqual({ error: expect.stringMatching(new RegExp(`\\b${wait} seconds`)) })

  const withKey = await fetch(`${api.url}/v1/nowhere`, { headers: key.header })
  expect([withKey.status, withKey.headers.get('ratelimit-limit')]).toEqual([404, '1000'])

  const metrics = await (await fetch(`${api.adminUrl}/metrics`)).text()
  expect(metrics).toMatch(/weir_api_gate_duration_seconds_count\{source="limiter",verdict="deny",basis="bucket"\} 1/)
  expect(metrics).toMatch(/weir_api_request_duration_seconds_count\{route="unmatched",status="404"\} 4/)
  expect(metrics).not.toMatch(/acme|127\.0\.0\.1/)
})

test('the API is not ready until a limiter knows its domain, and stays ready without one', async () => {
  await using folder = await openFolder()
  const { policyFile, port } = await prepare(folder.path, policies.replace('domain: api', 'domain: other'))
  await using api = await startApi({ API_LIMITER: `127.0.0.1:${port}`, API_LIMITER_DEADLINE_MS: '500' })
  expect(await ready(api.adminUrl)).toBe(503)
  {
    await using limiter = await startLimiter(port, policyFile)
    // Asked, and answered that the domain is not known.
    await vi.waitFor(
      async () => {
        expect(await ready(api.adminUrl)).toBe(503)
        expect(api.stdout()).toContain('the limiter rejects what it is asked')
      },
      { timeout: 60_000, interval: 100 },
    )
    await writeFile(policyFile, policies)
    await vi.waitFor(async () => expect(await ready(api.adminUrl)).toBe(200), { timeout: 60_000, interval: 100 })
    limiter.child.kill('SIGKILL')
    await limiter.exited
  }
  for (let index = 0; index < 10; index += 1) {
    const answer = await fetch(`${api.url}/v1/nowhere`)
    // The fallback's bucket of this client, 50 tokens.
    expect([answer.status, answer.headers.get('ratelimit-limit')]).toEqual([404, '50'])
  }
  expect(await ready(api.adminUrl)).toBe(200)
  expect((await fetch(`${api.adminUrl}/livez`)).status).toBe(200)
})

test('whoever is told that the API is ready reaches it', async () => {
  await using folder = await openFolder()
  const { policyFile, port } = await prepare(folder.path)
  await using _limiter = await startLimiter(port, policyFile)
  const [apiPort, adminPort] = [await freePort(), await freePort()]
  await using api = startProgram(apiProgram, {
    API_ADDRESS: `127.0.0.1:${apiPort}`,
    API_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    API_LIMITER: `127.0.0.1:${port}`,
    API_LIMITER_DEADLINE_MS: '2000',
    ...listensLate(apiPort),
  })
  let hasEnded = false
  void api.exited.then(() => {
    hasEnded = true
  })
  const isReady = async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`).catch(() => undefined))?.ok === true
  while (!(await isReady())) expect(hasEnded).toBe(false)
  expect((await fetch(`http://127.0.0.1:${apiPort}/v1/nowhere`)).status).toBe(404)
})

test('keys are in force as soon as their file has changed', async () => {
  await using folder = await openFolder()
  const { key, keyFile } = await prepare(folder.path)
  await using api = await startApi({ API_KEYS: keyFile })
  const status = async () => (await fetch(`${api.url}/v1/nowhere`, { headers: key.header })).status
  expect(await status()).toBe(404)
  await writeFile(keyFile, '')
  await vi.waitFor(async () => expect(await status()).toBe(401), { timeout: 60_000 })
})

test('whatever is wrong with the settings is told in one message, exit 1', async () => {
  await using folder = await openFolder()
  await using program = startProgram(apiProgram, {
    API_ADDRESS: 'nowhere',
    API_LIMITER_FALLBACK: 'open',
    DATABASE_URL: 'postgress://user:hunter2@host/db',
    API_KEYS: join(folder.path, 'none'),
  })
  expect(await program.exited).toBe(1)
  for (const name of ['API_ADDRESS', 'API_LIMITER_FALLBACK']) expect(program.stderr()).toContain(name)
  expect(program.stdout()).toBe('')
})

test('files and databases that cannot be opened are told in one message, without what is secret, exit 1', async () => {
  await using folder = await openFolder()
  const at = (name: string) => join(folder.path, name)
  await writeFile(at('keys'), '{}')
  await writeFile(at('secret'), 'short')
  await using program = startProgram(apiProgram, {
    API_KEYS: at('keys'),
    API_CURSOR_SECRET_FILE: at('secret'),
    DATABASE_URL: 'postgress://user:hunter2@host/db',
  })
  expect(await program.exited).toBe(1)
  expect(program.stderr()).toContain(`API_KEYS: ${at('keys')}:1 id must be`)
  expect(program.stderr()).toContain('API_CURSOR_SECRET_FILE')
  expect(program.stderr()).toContain('DATABASE_URL')
  expect(program.stderr()).not.toContain('hunter2')
  expect(program.stderr()).not.toContain('    at ')
})

test.each(['API_ADDRESS', 'API_ADMIN_ADDRESS'])('a port in use is told in one message: %s, exit 1', async (setting) => {
  const other = createServer().listen(0, '127.0.0.1')
  await vi.waitFor(() => expect(other.listening).toBe(true))
  const address = other.address()
  const port = typeof address === 'object' ? address?.port : 0
  await using program = startProgram(apiProgram, {
    API_ADDRESS: '127.0.0.1:0',
    API_ADMIN_ADDRESS: '127.0.0.1:0',
    [setting]: `127.0.0.1:${port}`,
  })
  expect(await program.exited).toBe(1)
  expect(program.stderr()).toContain(`${setting}: cannot listen on 127.0.0.1:${port}: another process uses it`)
  expect(program.stderr().trim().split('\n')).toHaveLength(2)
  other.close()
})

test('SIGTERM under load: every request that was taken is answered, exit 0 within 5 s', async () => {
  await using api = await startApi({ API_LIMITER_FALLBACK: 'allow' })
  const agent = new Agent({ keepAlive: true, maxSockets: 40 })
  const outcomes = new Map<string, number>()
  let stopped = false
  const client = async () => {
    while (!stopped) {
      const outcome = await new Promise<string>((resolve) => {
        const request = get(`${api.url}/v1/nowhere`, { agent }, (response) => {
          response.resume()
          response.once('end', () => resolve(`${response.statusCode}`))
          response.once('error', (error) => resolve(`broken answer: ${error.message}`))
        })
        request.once('error', (error) => {
          const reason = 'code' in error ? String(error.code) : error.message
          resolve(request.reusedSocket ? `${reason} on a connection that had served` : reason)
        })
      })
      outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      if (outcome === 'ECONNREFUSED') return
    }
  }
  const clients = Array.from({ length: 40 }, client)
  await vi.waitFor(() => expect(outcomes.get('404')).toBeGreaterThan(500), { timeout: 60_000 })
  const startMs = performance.now()
  api.child.kill('SIGTERM')
  expect(await api.exited).toBe(0)
  expect(performance.now() - startMs).toBeLessThan(5_000)
  stopped = true
  await Promise.all(clients)
  // A connection that was never accepted is the only thing that a client may meet but its answer; the kernel resets those that wait for that.
  const lawful = ['404', 'ECONNREFUSED', 'ECONNRESET']
  expect([...outcomes.keys()].filter((outcome) => !lawful.includes(outcome))).toEqual([])
})

test('SIGTERM while a request waits for an answer that is slow but within its deadlines: it gets it', async () => {
  await using limiter = await openScriptedLimiter(() => delay(4_000, allow))
  await using api = await startApi({ API_LIMITER: limiter.address, API_LIMITER_DEADLINE_MS: '10000' })
  const slow = fetch(`${api.url}/v1/nowhere`)
  await vi.waitFor(() => expect(limiter.state.asked).toBe(1), { timeout: 20_000 })
  api.child.kill('SIGTERM')
  expect((await slow).status).toBe(404)
  expect(await api.exited).toBe(0)
})

test('SIGINT: an idle keep-alive connection and one with half a request do not hold up the end', async () => {
  await using api = await startApi({})
  const agent = new Agent({ keepAlive: true })
  await new Promise((resolve) => get(`${api.url}/`, { agent }, (response) => response.resume().once('end', resolve)))
  const half = connect(Number(new URL(api.url).port), '127.0.0.1')
  half.on('error', () => {})
  await new Promise((resolve) => half.write('GET / HT', resolve))
  const startMs = performance.now()
  api.child.kill('SIGINT')
  expect(await api.exited).toBe(0)
  expect(performance.now() - startMs).toBeLessThan(4_000)
  half.destroy()
  agent.destroy()
})

test('a key never reaches the log of the process, wherever it is put', async () => {
  await using folder = await openFolder()
  const { key, keyFile } = await prepare(folder.path)
  await using api = await startApi({ API_KEYS: keyFile, LOG_LEVEL: 'trace', API_LIMITER_FALLBACK: 'allow' })
  const secret = key.key.slice(-48)
  const headers = {
    cookie: key.key,
    'x-api-key': key.key,
    referer: key.key,
    'user-agent': key.key,
    'idempotency-key': key.key,
  }
  for (const authorization of [`Bearer ${key.key}`, `Bearer ${key.key}x`, key.key, `Basic ${key.key}`]) {
    for (const path of [
      `/v1/orders?key=${key.key}&cursor=${key.key}`,
      `/v1/orders/${key.key}`,
      `/${key.key}`,
      `/%zz${key.key}`,
    ]) {
      await fetch(`${api.url}${path}`, { headers: { ...headers, authorization } })
      await fetch(`${api.url}${path}`, {
        method: 'POST',
        headers: { ...headers, authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ reference: key.key, [key.key]: 1 }),
      })
    }
  }
  api.child.kill('SIGTERM')
  expect(await api.exited).toBe(0)
  expect(api.stdout()).toContain('"answered"')
  expect(api.stdout() + api.stderr()).not.toContain(secret)
})
