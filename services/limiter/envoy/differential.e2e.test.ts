// The same requests to envoyproxy/ratelimit and, with the configuration imported, to Weir. Where a fixed window and a bucket must agree
// they do, request by request; where Weir is meant to differ, the table says why.
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { freePort, startService } from '../../platform/service.fixture.ts'
import { rateLimitServiceV3 } from '../../wire/envoy-protocol.ts'
import { importConfig } from '../policies/import-envoy/import-config.ts'
import { formatProblem } from '../policies/problem.ts'
import { startRedis } from '../redis/redis-server.fixture.ts'
import { openClient } from '../rpc/server.fixture.ts'
import { buildRatelimit, startRatelimit } from './differential.fixture.ts'

const BUILD_MS = 600_000

const main = fileURLToPath(new URL('../main.ts', import.meta.url))
const configuration = readFileSync(new URL('differential.yaml', import.meta.url), 'utf8')

let program: string
beforeAll(async () => {
  program = await buildRatelimit()
}, BUILD_MS)

type Descriptor = {
  readonly entries: readonly (readonly [string, string])[]
  readonly hits?: number
  readonly limit?: { readonly requestsPerUnit: number; readonly unit: 'MONTH' }
}
type Request = { readonly descriptors: readonly Descriptor[]; readonly hits?: number; readonly domain?: string }
type Case = {
  readonly name: string
  readonly steps: readonly (readonly [times: number, request: Request])[]
  /** Why Weir decides otherwise; absent: it must not. */
  readonly differs?: string
}

/** Descriptors as `key=value+key=value`. */
const ask = (...descriptors: readonly string[]): Request => ({
  descriptors: descriptors.map((text) => ({
    entries: text.split('+').map((entry) => {
      const [key = '', value = ''] = entry.split('=')
      return [key, value] as const
    }),
  })),
})
const withHits = (hits: number, request: Request): Request => ({ ...request, hits })
const withOwnHits = (hits: number, request: Request): Request => ({
  ...request,
  descriptors: request.descriptors.map((descriptor) => ({ ...descriptor, hits })),
})
const withLimit = (requestsPerUnit: number, request: Request): Request => ({
  ...request,
  descriptors: request.descriptors.map((descriptor) => ({ ...descriptor, limit: { requestsPerUnit, unit: 'MONTH' } })),
})

const cases: readonly Case[] = [
  {
    name: 'a value, to its limit and beyond',
    steps: [
      [8, ask('database=users')],
      [3, ask('database=default')],
    ],
  },
  { name: 'a value that is not listed', steps: [[8, ask('database=other')]] },
  {
    name: 'a key without a value: a counter each',
    steps: [
      [7, ask('to_number=1')],
      [7, ask('to_number=2')],
    ],
  },
  {
    name: 'nested',
    steps: [
      [5, ask('message_type=marketing+to_number=1')],
      [5, ask('message_type=news+to_number=1')],
    ],
  },
  {
    name: 'more or fewer entries than the rule',
    steps: [
      [6, ask('message_type=marketing')],
      [6, ask('database=users+x=y')],
    ],
  },
  {
    name: 'a limit of 0',
    steps: [
      [2, ask('remote_address=50.0.0.5')],
      [5, ask('remote_address=50.0.0.1')],
    ],
  },
  {
    name: 'a value with its own number',
    steps: [
      [9, ask('api_key=partner')],
      [5, ask('api_key=other')],
    ],
  },
  {
    name: 'a wildcard, a counter each',
    steps: [
      [4, ask('own=own/a')],
      [4, ask('own=own/b')],
      [4, ask('own=x')],
    ],
  },
  {
    name: 'share_threshold, a counter for all',
    steps: [
      [2, ask('files=files/a')],
      [4, ask('files=files/b')],
    ],
  },
  { name: 'unlimited', steps: [[9, ask('ldap=x')]] },
  {
    name: 'shadow_mode',
    steps: [
      [9, ask('service=auth+user=a')],
      [5, ask('service=auth+user=b')],
    ],
  },
  {
    name: 'replaces',
    steps: [
      [5, ask('key_1=v+user=u', 'key_2=v+user=u')],
      [4, ask('key_1=v+user=u')],
    ],
  },
  { name: 'two limits, each beyond alone', steps: [[7, ask('database=both', 'to_number=9')]] },
  { name: 'an unknown domain', steps: [[9, { ...ask('database=users'), domain: 'nobody' }]] },
  { name: 'hits of the request', steps: [[3, withHits(2, ask('to_number=3'))]] },
  {
    name: 'hits of the descriptor',
    steps: [
      [2, withOwnHits(3, ask('to_number=4'))],
      [1, ask('to_number=4')],
    ],
  },
  { name: 'more hits than the limit', steps: [[1, withHits(99, ask('to_number=5'))]] },
  { name: 'a limit of the descriptor', steps: [[6, withLimit(4, ask('database=own-limit'))]] },
  {
    name: 'after hits that did not fit',
    steps: [
      [1, withHits(4, ask('to_number=6'))],
      [1, withHits(5, ask('to_number=6'))],
      [2, ask('to_number=6')],
    ],
    differs: 'a refused request costs nothing: the 2 that are left still pass',
  },
  {
    name: 'after refusals by another limit',
    steps: [
      [10, ask('database=small', 'to_number=7')],
      [6, ask('to_number=7')],
    ],
    differs: 'a request pays for all descriptors or for none: refusals by one limit leave the other',
  },
  {
    name: '0 hits at the limit',
    steps: [
      [6, ask('to_number=8')],
      [1, withOwnHits(0, ask('to_number=8'))],
    ],
    differs:
      '0 hits ask whether a token is left, and none is; there only a refused request lifts the count over the limit',
  },
]

type Client = ReturnType<typeof openClient>

const codesOf = async (client: Client, { steps }: Case) => {
  const codes: string[] = []
  for (const [times, request] of steps)
    for (let turn = 0; turn < times; turn += 1) {
      const reply = await client.call(rateLimitServiceV3.ShouldRateLimit, {
        domain: request.domain ?? 'differential',
        ...(request.hits !== undefined && { hitsAddend: request.hits }),
        descriptors: request.descriptors.map(({ entries, hits, limit }) => ({
          entries: entries.map(([key, value]) => ({ key, value })),
          ...(hits !== undefined && { hitsAddend: { value: hits } }),
          ...(limit !== undefined && { limit }),
        })),
      })
      if (!reply.ok) throw reply.error
      codes.push(reply.response.overallCode === 'OK' ? '.' : 'x')
    }
  return codes.join('')
}

test('Weir with the imported configuration decides as envoyproxy/ratelimit, but where the table says why not', async () => {
  const imported = importConfig([{ name: 'differential.yaml', text: configuration }])
  if (!imported.ok) throw new Error(imported.problems.map(formatProblem).join('\n'))
  await using stack = new AsyncDisposableStack()
  const folder = await mkdtemp(join(tmpdir(), 'weir-differential-'))
  stack.defer(() => rm(folder, { recursive: true, force: true }))
  const policies = join(folder, 'policies.yaml')
  await writeFile(policies, imported.files.map(({ text }) => text).join('---\n'))
  const redis = stack.use(await startRedis())
  const ratelimit = stack.use(await startRatelimit(program, configuration, redis.port))
  const port = await freePort()
  const started = await startService(main, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${await freePort()}`,
    LIMITER_STORE: `redis://127.0.0.1:${redis.port}`,
    LIMITER_STORE_DEADLINE_MS: '10000',
    LIMITER_POLICIES: policies,
    LOG_LEVEL: 'error',
  })
  if (!started.ok) throw new Error(started.output)
  stack.use(started.service)
  using theirs = openClient(`127.0.0.1:${ratelimit.port}`)
  using ours = openClient(`127.0.0.1:${port}`)

  const rows = []
  for (const one of cases) rows.push({ ...one, theirs: await codesOf(theirs, one), ours: await codesOf(ours, one) })
  const width = Math.max(...cases.map(({ name }) => name.length))
  const line = (name: string, a: string, b: string, why: string) =>
    `${name.padEnd(width)}  ${a.padEnd(18)}  ${b.padEnd(18)}  ${why}`
  console.info(
    [
      line('. passes, x is refused', 'envoyproxy', 'Weir', ''),
      ...rows.map((row) =>
        line(row.name, row.theirs, row.ours, row.theirs === row.ours ? 'same' : (row.differs ?? 'DIFFERS')),
      ),
    ].join('\n'),
  )
  for (const row of rows) {
    if (row.differs === undefined) expect(row.ours, row.name).toBe(row.theirs)
    else expect(row.ours, row.name).not.toBe(row.theirs)
  }
  // The run asked what it says: limits were reached on both sides.
  expect(rows.filter((row) => row.theirs.includes('x')).length).toBeGreaterThan(12)
}, 300_000)
