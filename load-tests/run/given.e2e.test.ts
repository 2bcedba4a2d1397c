// Somebody's installation, asked by k6: the one of `npm start`.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort, until } from '../../services/platform/service.fixture.ts'
import { runLoad } from './program.fixture.ts'

const program = fileURLToPath(new URL('../../services/start.ts', import.meta.url))

const openBoth = async () => {
  const address = async () => `127.0.0.1:${await freePort()}`
  const addresses = {
    LIMITER_ADDRESS: await address(),
    LIMITER_ADMIN_ADDRESS: await address(),
    API_ADDRESS: await address(),
    API_ADMIN_ADDRESS: await address(),
  }
  const { PATH = '', HOME = '' } = process.env
  const env = { PATH, HOME, ...addresses, API_LIMITER_DEADLINE_MS: '5000' }
  const child = spawn(process.execPath, [program], { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  await until(() => output.includes('Weir is serving') || child.exitCode !== null, 120_000)
  const url = `http://${addresses.API_ADDRESS}`
  const key = (label: string) => new RegExp(`^API key \\(${label}\\): (\\S+)$`, 'm').exec(output)?.[1] ?? ''
  return {
    url,
    key,
    metrics: [addresses.LIMITER_ADMIN_ADDRESS, addresses.API_ADMIN_ADDRESS]
      .map((admin) => `http://${admin}/metrics`)
      .join(','),
    spend: async (label: string) => {
      const answer = await fetch(`${url}/v1/orders`, {
        headers: { authorization: `Bearer ${key(label)}`, connection: 'close' },
      })
      await answer.arrayBuffer()
    },
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGTERM')
      await ended
    },
  }
}

const openFolder = async () => {
  const path = await mkdtemp(join(tmpdir(), 'weir-load-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

test('an installation that is there is asked with its key, and its processes are read', async () => {
  await using both = await openBoth()
  await using folder = await openFolder()
  const { code, output } = await runLoad(['smoke'], {
    BASE_URL: both.url,
    API_KEY: both.key('free'),
    METRICS_URLS: both.metrics,
    OUT: folder.path,
  })
  expect(output).toContain('smoke: passed')
  expect(code).toBe(0)
  const report = JSON.parse(await readFile(join(folder.path, 'smoke.json'), 'utf8'))
  expect(report).toMatchObject({ verdict: 'passed', unchecked: 0 })
  expect(report.about).toContain(`${both.url}, `)
  expect(await readFile(join(folder.path, 'smoke.html'), 'utf8')).toContain('<title>smoke: passed')
})

test('without metrics the run says what it could not check', async () => {
  await using both = await openBoth()
  await using folder = await openFolder()
  const { code, output } = await runLoad(['smoke'], {
    BASE_URL: both.url,
    API_KEY: both.key('free'),
    OUT: folder.path,
  })
  expect(output).toContain('smoke: passed (1 not checked)')
  expect(code).toBe(0)
})

test('a bucket that is not full, a key that nobody knows and a load that empties nothing end the run with the remedy', async () => {
  await using both = await openBoth()
  await using folder = await openFolder()
  const settings = { BASE_URL: both.url, OUT: folder.path }
  const stranger = await runLoad(['smoke'], { ...settings, API_KEY: 'weir_nobody' })
  expect(stranger.output).toContain('The API does not know API_KEY.')
  const lazy = await runLoad(['accuracy'], { ...settings, API_KEY: both.key('pro'), RATE: '2', DURATION_S: '5' })
  expect(lazy.output).toMatch(/do not empty a bucket of \d+ tokens.*: set RATE=\d+ or more/)
  for (let asked = 0; asked < 40; asked += 1) await both.spend('free')
  const spent = await runLoad(['accuracy'], { ...settings, API_KEY: both.key('free') })
  expect(spent.output).toMatch(/The bucket was not full: \d+ of \d+ tokens were missing before the run\. Wait \d+ s/)
  expect([stranger.code, lazy.code, spent.code].includes(0)).toBe(false)
})
