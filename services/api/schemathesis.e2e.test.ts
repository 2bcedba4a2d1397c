// Schemathesis sends what the document permits and what it forbids, and judges every answer by it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { buildPythonEnvironment } from '../platform/python-environment.fixture.ts'
import { freePort } from '../platform/service.fixture.ts'
import { makeKey } from './app.fixture.ts'
import { formatKeyLine } from './identify/key-line.ts'
import { openFolder, startApi, startLimiter } from './process.fixture.ts'

const INSTALL_MS = 180_000
/** Longer than the time that `schemathesis.toml` gives, and what is needed before and after. */
const RUN_MS = 240_000

const settings = fileURLToPath(new URL('schemathesis', import.meta.url))
const document = fileURLToPath(new URL('openapi.v1.json', import.meta.url))

/** Counts every request, and never refuses one. */
const policies = `
domain: api
subject: client
policies:
  - { name: generous, by: [client], capacity: 1000000, refill: 100000/s }
`

let programs: string
beforeAll(async () => {
  programs = await buildPythonEnvironment('schemathesis', join(settings, 'requirements.txt'))
}, INSTALL_MS)

type Run = { readonly folder: string; readonly url: string; readonly key: string }

const runSchemathesis = async ({ folder, url, key }: Run) => {
  // Other data in each run, but in CI, which must not turn red without a change.
  const seed = process.env['CI'] === undefined ? [] : ['--seed', '1']
  const options = ['--config-file', join(settings, 'schemathesis.toml'), 'run', document, '--url', url, ...seed]
  const child = spawn(join(programs, 'schemathesis'), options, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', API_KEY: key, PYTHONPATH: settings, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  const [code] = await once(child, 'close')
  return { code, output }
}

test(
  'Schemathesis finds nothing',
  async () => {
    await using folder = await openFolder()
    const file = (name: string) => join(folder.path, name)
    const key = makeKey('acme', 'orders:read', 'orders:write')
    await writeFile(file('policies.yaml'), policies)
    await writeFile(file('keys'), formatKeyLine(key.record))
    const port = await freePort()
    await using _limiter = await startLimiter(port, file('policies.yaml'))
    await using api = await startApi({
      API_LIMITER: `127.0.0.1:${port}`,
      API_LIMITER_DEADLINE_MS: '10000',
      API_KEYS: file('keys'),
    })
    const { code, output } = await runSchemathesis({ folder: folder.path, url: api.url, key: key.key })
    console.log(output.slice(output.indexOf('= SUMMARY =')))
    expect(output).toContain('No issues found')
    expect(output).toMatch(/Selected: 8\/8\s+Tested: 8\b/)
    expect(code, output).toBe(0)

    // What it asked was counted by the limiter, and all of it was answered by the routes.
    const metrics = await (await fetch(`${api.adminUrl}/metrics`)).text()
    expect(metrics).toMatch(/source="limiter",verdict="allow",basis="bucket"} [1-9]\d{3}/)
    expect(metrics).not.toMatch(/source="fallback"|verdict="deny"|status="(429|5\d\d)"/)
  },
  RUN_MS,
)
