import { spawn } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { Agent, get } from 'node:http'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import { openClient } from './limiter/rpc/server.fixture.ts'
import { freePort, until } from './platform/service.fixture.ts'

// Each test starts both services, an embedded database among them, while other tests keep the machine busy.
vi.setConfig({ testTimeout: 240_000 })

const program = fileURLToPath(new URL('start.ts', import.meta.url))

const freeAddresses = async () => ({
  LIMITER_ADDRESS: `127.0.0.1:${await freePort()}`,
  LIMITER_ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
  API_ADDRESS: `127.0.0.1:${await freePort()}`,
  API_ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
})

/** What `npm start` runs, on free ports. */
const run = (command: string, options: readonly string[], settings: Readonly<Record<string, string>>) => {
  const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...settings }
  const child = spawn(command, options, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return {
    output: () => output,
    ended,
    stop: async (signal: NodeJS.Signals) => {
      const startMs = performance.now()
      child.kill(signal)
      const code = await ended
      return { code, elapsedMs: performance.now() - startMs }
    },
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGTERM')
      await ended
    },
  }
}

const openBoth = async (settings: Readonly<Record<string, string>> = {}) => {
  const addresses = await freeAddresses()
  // On a busy machine an answer may take longer than the gate's 50 ms: this is about the limiter's numbers, not the fallback's.
  const patience = { API_LIMITER_DEADLINE_MS: '5000' }
  const running = run(process.execPath, [program], { ...addresses, ...patience, ...settings })
  await Promise.race([until(() => running.output().includes('Weir is serving'), 120_000), running.ended])
  if (!running.output().includes('Weir is serving')) throw new Error(running.output())
  const key = (label: string) => new RegExp(`^API key \\(${label}\\): (\\S+)$`, 'm').exec(running.output())?.[1] ?? ''
  const orders = (label?: string) =>
    fetch(
      `http://${addresses.API_ADDRESS}/v1/orders`,
      label === undefined ? {} : { headers: { authorization: `Bearer ${key(label)}` } },
    )
  return { ...running, addresses, key, orders }
}

const isRefused = (address: string) =>
  new Promise<boolean>((resolve) => {
    const socket = connect(Number(address.split(':')[1]), '127.0.0.1')
    const settle = (refused: boolean) => {
      socket.destroy()
      resolve(refused)
    }
    socket.once('error', () => settle(true)).once('connect', () => settle(false))
  })

describe('npm start', () => {
  test('limits real HTTP traffic to exactly what the plan allows, and tells the truth about it', async () => {
    await using weir = await openBoth()
    const startMs = performance.now()
    const statuses: number[] = []
    let refusal: Response | undefined
    while (statuses.length < 120) {
      const response = await weir.orders('free')
      statuses.push(response.status)
      if (response.status === 429) refusal ??= response
      else await response.arrayBuffer()
    }
    const elapsedS = (performance.now() - startMs) / 1000
    const admitted = statuses.filter((status) => status === 200).length
    expect(Math.abs(admitted - (60 + Math.floor(5 * elapsedS)))).toBeLessThanOrEqual(1)
    expect(new Set(statuses)).toEqual(new Set([200, 429]))

    const header = (name: string) => refusal?.headers.get(name)
    expect([header('ratelimit-limit'), header('ratelimit-remaining'), header('retry-after')]).toEqual(['60', '0', '1'])
    expect(header('content-type')).toBe('application/json')
    expect(await refusal?.json()).toEqual({ error: expect.stringMatching(/limit exceeded.*\b1\b/i) })
  })

  test('each printed key is of its plan', async () => {
    await using weir = await openBoth()
    const limits = []
    for (const label of [undefined, 'free', 'pro', 'read-only'])
      limits.push((await weir.orders(label)).headers.get('ratelimit-limit'))
    expect(limits).toEqual(['20', '60', '600', '60'])
    const post = await fetch(`http://${weir.addresses.API_ADDRESS}/v1/orders`, {
      method: 'POST',
      headers: { authorization: `Bearer ${weir.key('read-only')}`, 'content-type': 'application/json' },
      body: '{}',
    })
    expect(post.status).toBe(403)
  })

  test('Retry-After is true: refused at 80 % of it, admitted at 100 %', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-policies-'))
    const file = join(folder, 'policies.yaml')
    await writeFile(
      file,
      'domain: api\nsubject: client\npolicies:\n  - { name: slow, capacity: 1, refill: 1 per 5s }\n',
    )
    try {
      await using weir = await openBoth({ LIMITER_POLICIES: file })
      const grantedMs = performance.now()
      expect((await weir.orders('free')).status).toBe(200)
      const refused = await weir.orders('free')
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '5'])

      using limiter = openClient(weir.addresses.LIMITER_ADDRESS)
      const attributes = { client: 'user:demo-free', plan: 'free' }
      const askedMs = performance.now()
      const denial = await limiter.shouldAllow({ domain: 'api', attributes })
      const answeredMs = performance.now()
      const retryAfterMs = denial.ok ? (denial.response.retryAfterMs ?? 0) : 0
      // The token was granted between the request and its answer, a few milliseconds apart.
      expect(Math.abs(askedMs + retryAfterMs - (grantedMs + 5_000))).toBeLessThan(200)

      const waitUntil = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms - performance.now()))
      await waitUntil(askedMs + retryAfterMs * 0.8)
      expect((await weir.orders('free')).status).toBe(429)
      // Refused until 20 ms before the announced moment, admitted at it; the answer was given between asking and having it.
      await waitUntil(askedMs + retryAfterMs - 20)
      expect(await limiter.shouldAllow({ domain: 'api', attributes })).toMatchObject({ response: { verdict: 'DENY' } })
      await waitUntil(answeredMs + retryAfterMs)
      expect((await weir.orders('free')).status).toBe(200)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test.each(['SIGTERM', 'SIGINT'] as const)(
    '%s under load: every request on a connection gets its answer, the exit code is 0 within 5 s',
    async (signal) => {
      await using weir = await openBoth()
      let stopping = false
      let answered = 0
      let cutOff = 0
      const agent = new Agent({ keepAlive: true, maxSockets: 10 })
      const ask = () =>
        new Promise<void>((resolve) => {
          const headers = { authorization: `Bearer ${weir.key('pro')}` }
          const request = get(`http://${weir.addresses.API_ADDRESS}/v1/orders`, { agent, headers }, (response) => {
            answered += 1
            response.resume().once('end', resolve)
          })
          request.once('error', () => {
            // A connection that was never taken carried no request to anybody; one that had served before did.
            if (request.reusedSocket) cutOff += 1
            resolve()
          })
        })
      const caller = async () => {
        while (!stopping) await ask()
      }
      const callers = Array.from({ length: 10 }, caller)
      await until(() => answered > 50)
      const { code, elapsedMs } = await weir.stop(signal)
      stopping = true
      await Promise.all(callers)
      agent.destroy()
      expect(code, weir.output()).toBe(0)
      expect(elapsedMs).toBeLessThan(5_000)
      expect(cutOff).toBe(0)
    },
  )

  test.each([
    ['SIGTERM to npm alone', 'SIGTERM', 'process'],
    ['SIGINT to npm alone', 'SIGINT', 'process'],
    ['Ctrl-C, which reaches the whole process group', 'SIGINT', 'group'],
  ] as const)(
    'by way of npm: %s stops everything, and npm exits 0',
    async (_, signal, reach) => {
      const addresses = await freeAddresses()
      const root = fileURLToPath(new URL('..', import.meta.url))
      const env = { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'] ?? '', ...addresses }
      const npm = spawn('npm', ['start'], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
      let output = ''
      for (const stream of [npm.stdout, npm.stderr])
        stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
      const ended = new Promise<number | null>((resolve) => npm.once('close', resolve))
      await until(() => output.includes('Weir is serving'), 120_000)
      const startMs = performance.now()
      process.kill(reach === 'group' ? -(npm.pid ?? 0) : (npm.pid ?? 0), signal)
      expect(await ended, output).toBe(0)
      expect(performance.now() - startMs).toBeLessThan(5_000)
      for (const address of Object.values(addresses)) expect(await isRefused(address), address).toBe(true)
    },
    240_000,
  )

  test('the ports are free again after a stop, and no key file is left behind', async () => {
    const weir = await openBoth()
    const tokenFile = /LIMITER_ADMIN_TOKEN_FILE=(\S+)/.exec(weir.output())?.[1] ?? ''
    expect(await readFile(tokenFile, 'utf8')).not.toBe('')
    expect((await weir.stop('SIGTERM')).code).toBe(0)
    await expect(readFile(tokenFile)).rejects.toThrow('ENOENT')
    for (const address of Object.values(weir.addresses)) {
      expect(await isRefused(address), address).toBe(true)
    }
  })

  test.each(['LIMITER_ADDRESS', 'API_ADDRESS', 'LIMITER_ADMIN_ADDRESS', 'API_ADMIN_ADDRESS'])(
    '%s in use: one clear message, exit code 1',
    async (setting) => {
      const blocker = createServer().listen(0, '127.0.0.1')
      await new Promise((resolve) => blocker.once('listening', resolve))
      const address = blocker.address()
      const taken = `127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
      await using running = run(process.execPath, [program], { ...(await freeAddresses()), [setting]: taken })
      expect(await running.ended).toBe(1)
      expect(running.output()).toContain(`${setting}: cannot listen on ${taken}: another process uses it`)
      expect(running.output()).not.toMatch(/\n\s+at /)
      blocker.close()
    },
  )

  test('a bad setting and a bad policy file: one message that names them, exit code 1', async () => {
    await using bad = run(process.execPath, [program], { ...(await freeAddresses()), API_LIMITER_DEADLINE_MS: 'soon' })
    expect(await bad.ended).toBe(1)
    expect(bad.output()).toContain('API_LIMITER_DEADLINE_MS is "soon"')
    await using missing = run(process.execPath, [program], {
      ...(await freeAddresses()),
      LIMITER_POLICIES: '/nowhere/policies.yaml',
    })
    expect(await missing.ended).toBe(1)
    expect(missing.output()).toContain('/nowhere/policies.yaml')
  })
})

describe('the bootstrap', () => {
  const bootstrap = fileURLToPath(new URL('bootstrap.mjs', import.meta.url))

  test('fails loudly when what it would run on is not Node 24', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-bootstrap-'))
    try {
      // A checkout whose packages are installed, but whose packaged Node is another program.
      const root = fileURLToPath(new URL('..', import.meta.url))
      const { mkdir } = await import('node:fs/promises')
      await mkdir(join(folder, 'services'))
      await mkdir(join(folder, 'node_modules/node/bin'), { recursive: true })
      await copyFile(bootstrap, join(folder, 'services/bootstrap.mjs'))
      await copyFile(join(root, 'package-lock.json'), join(folder, 'package-lock.json'))
      await copyFile(join(root, 'node_modules/.installed'), join(folder, 'node_modules/.installed'))
      await writeFile(join(folder, 'node_modules/node/bin/node'), '#!/bin/sh\necho v22.1.0\n', { mode: 0o755 })
      // An older Node that reads the script: this one, under another version.
      const disguise = `Object.defineProperty(process, 'version', { value: 'v20.20.2' })`
      await writeFile(join(folder, 'disguise.mjs'), disguise)
      await using running = run(
        process.execPath,
        ['--import', join(folder, 'disguise.mjs'), join(folder, 'services/bootstrap.mjs'), 'x.ts'],
        {},
      )
      expect(await running.ended).toBe(1)
      expect(running.output()).toMatch(/Weir runs on Node 24, but the installed one is v22\.1\.0/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })

  test('runs the program with its arguments, and ends as it ends', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'weir-bootstrap-'))
    try {
      const probe = join(folder, 'probe.ts')
      await writeFile(probe, 'console.log(process.version, process.argv.slice(2).join())\nprocess.exitCode = 7\n')
      await using running = run(process.execPath, [bootstrap, probe, 'a', 'b'], {})
      expect(await running.ended).toBe(7)
      expect(running.output()).toMatch(/^v24\.\S+ a,b\n$/)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  })
})

describe('a missing system package', () => {
  test('that cannot be installed is one message that names it', async () => {
    const { missingPackages, installSystemPackages } = await import('./system-packages.ts')
    const nothing = { path: '/nowhere', folders: [] }
    expect(missingPackages(nothing)).toEqual(['iproute2', 'iptables', 'openssl', 'postgresql', 'redis-server'])
    expect(installSystemPackages({ ...nothing, isRoot: false })).toEqual({
      ok: false,
      message: expect.stringMatching(
        /system packages are missing: iproute2 iptables openssl postgresql redis-server\. .*apt-get install/,
      ),
    })
  })
})
