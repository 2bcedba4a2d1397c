import { writeFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { freePort, startService, until } from '../platform/service.fixture.ts'
import { openTemporaryFolder } from './policies/temporary-folder.fixture.ts'
import { redisCli, startRedis } from './redis/redis-server.fixture.ts'
import { openClient } from './rpc/server.fixture.ts'

const program = fileURLToPath(new URL('main.ts', import.meta.url))

const TOKEN = 'open sesame'

// Refills of an hour: nothing that a test can wait for.
const LIVE = `domain: api
subject: client
policies:
  - { name: free, match: { plan: free }, capacity: 10, refill: 1/h }
  - { name: pro, match: { plan: pro }, capacity: 20, refill: 1/h }
`
const CANDIDATE = `domain: api
subject: client
policies:
  # Fewer for those who pay nothing, more for the others, and writes count by themselves.
  - { name: free, match: { plan: free }, capacity: 6, refill: 1/h }
  - { name: pro, match: { plan: pro }, capacity: 25, refill: 1/h }
  - { name: writes, match: { method: POST }, by: [client, method], capacity: 4, refill: 1/h }
overrides:
  - { policy: free, client: user-4, capacity: 15, refill: 1/h }
`

type Affected = {
  readonly requests: number
  readonly top: readonly { subject: string; atLeast: number; atMost: number }[]
}
type Difference = { policy: string; wouldBeRefused: Affected; wouldBeLetIn: Affected }
type Settings = { readonly live?: string; readonly candidate?: string; readonly subjectsPercent?: number }
type Page = {
  readonly state: string
  readonly candidate: { readonly problems: readonly unknown[]; readonly generation: number; readonly loadedAt: string }
  readonly comparison: {
    readonly since: string
    readonly compared: number
    readonly unknown: number
    readonly skipped: number
    readonly policies: readonly Difference[]
  }
  readonly changes: unknown
  readonly text: string
}

const openLimiter = async (
  store: string,
  { live = LIVE, candidate = CANDIDATE, subjectsPercent = 100 }: Settings = {},
) => {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await openTemporaryFolder())
  const files = { live: folder.at('live.yaml'), candidate: folder.at('candidate.yaml'), token: folder.at('token') }
  await writeFile(files.live, live)
  await writeFile(files.candidate, candidate)
  await writeFile(files.token, TOKEN)
  const [port, adminPort] = [await freePort(), await freePort()]
  const started = await startService(program, {
    LIMITER_ADDRESS: `127.0.0.1:${port}`,
    LIMITER_ADMIN_ADDRESS: `127.0.0.1:${adminPort}`,
    LIMITER_ADMIN_TOKEN_FILE: files.token,
    LIMITER_STORE: store,
    // Every decision is the bucket's.
    LIMITER_STORE_DEADLINE_MS: '5000',
    LIMITER_POLICIES: files.live,
    LIMITER_CANDIDATE_POLICIES: files.candidate,
    LIMITER_CANDIDATE_SUBJECTS_PERCENT: `${subjectsPercent}`,
  })
  if (!started.ok) throw new Error(started.output)
  stack.use(started.service)
  const client = stack.use(openClient(`127.0.0.1:${port}`))
  const admin = async (path: string) => (await fetch(`http://127.0.0.1:${adminPort}${path}`)).text()
  const kept = stack.move()
  return {
    files,
    client,
    admin,
    output: started.service.output,
    diff: async (): Promise<Page> => JSON.parse(await admin('/policies/diff')),
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}
type Limiter = Awaited<ReturnType<typeof openLimiter>>

/** What each subject asks: another number of requests, some of them writes. */
const traffic = Array.from({ length: 16 }, (_, index) => {
  const attributes = { client: `user-${index}`, plan: index % 2 === 0 ? 'free' : 'pro' }
  return Array.from({ length: 3 + index * 2 }, (_unused, request) => ({
    ...attributes,
    method: request % 3 === 0 ? 'POST' : 'GET',
  }))
})
const requests = traffic.flat().length

type Refusal = { readonly client: string; readonly policy: string }

/** All at once, each subject's one after the other; gives each request's refusal, in the order of the traffic. */
const send = async ({ client }: Limiter): Promise<readonly (Refusal | undefined)[]> => {
  const sendAll = async (attributes: (typeof traffic)[number]) => {
    const met: (Refusal | undefined)[] = []
    for (const one of attributes) {
      const reply = await client.shouldAllow({ domain: 'api', attributes: one, cost: 1 })
      if (!reply.ok) throw reply.error
      const { verdict, policy } = reply.response
      met.push(verdict === 'DENY' ? { client: one.client, policy: String(policy) } : undefined)
    }
    return met
  }
  return (await Promise.all(traffic.map(sendAll))).flat()
}

/** By policy and subject. */
const countBy = (refusals: readonly (Refusal | undefined)[]) => {
  const byPolicy = Map.groupBy(
    refusals.filter((refusal) => refusal !== undefined),
    ({ policy }) => policy,
  )
  return Object.fromEntries(
    [...byPolicy].map(([policy, ofPolicy]) => {
      const bySubject = Map.groupBy(ofPolicy, ({ client }) => client)
      return [policy, Object.fromEntries([...bySubject].map(([client, all]) => [client, all.length]))]
    }),
  )
}

const predicted = ({ comparison: { policies } }: Page, kind: 'wouldBeRefused' | 'wouldBeLetIn') =>
  Object.fromEntries(
    policies.flatMap(({ policy, [kind]: affected }) => {
      if (affected.requests === 0) return []
      for (const { atLeast, atMost } of affected.top) expect(atLeast).toBe(atMost)
      return [[policy, Object.fromEntries(affected.top.map(({ subject, atMost }) => [subject, atMost]))]]
    }),
  )

const compared = async (limiter: Limiter, count: number) => {
  await until(async () => (await limiter.diff()).comparison.compared >= count)
  const page = await limiter.diff()
  expect(page.comparison).toMatchObject({ compared: count, unknown: 0, skipped: 0 })
  return page
}

const replay = async (store: string) => {
  await using limiter = await openLimiter(store)
  await using alone = await openLimiter('memory:', { subjectsPercent: 1 })
  const before = await send(limiter)
  // The candidate changes no answer.
  expect(before).toEqual(await send(alone))
  const prediction = await compared(limiter, requests)
  expect(prediction.changes).toEqual({ added: ['api/writes'], changed: ['api/free', 'api/pro'], removed: [] })
  expect(prediction.text).toContain('-  - { name: free, match: { plan: free }, capacity: 10, refill: 1/h }\n')

  await writeFile(limiter.files.live, CANDIDATE)
  await until(async () => (await limiter.admin('/policies')).includes('"generation": 2'))
  for (const [attributes] of traffic)
    for (const method of ['GET', 'POST'])
      expect(await limiter.client.reset({ domain: 'api', attributes: { ...attributes, method } }, TOKEN)).toMatchObject(
        { ok: true },
      )
  const after = await send(limiter)

  const newlyRefused = countBy(after.filter((_, index) => before[index] === undefined))
  const newlyLetIn = countBy(before.filter((_, index) => after[index] === undefined))
  expect(predicted(prediction, 'wouldBeRefused')).toEqual(newlyRefused)
  expect(predicted(prediction, 'wouldBeLetIn')).toEqual(newlyLetIn)
  // It would hold of a switch that changes nothing.
  expect(Object.keys(newlyRefused).toSorted()).toEqual(['free', 'writes'])
  expect(Object.keys(newlyLetIn).toSorted()).toEqual(['free', 'pro'])

  const same = await compared(limiter, requests)
  expect(same.changes).toEqual({ added: [], changed: [], removed: [] })
  expect([predicted(same, 'wouldBeRefused'), predicted(same, 'wouldBeLetIn'), same.text]).toEqual([{}, {}, ''])
}

test('in memory, what the rehearsal predicts for each subject is what the switch brings', () => replay('memory:'))

test('on Redis, what the rehearsal predicts for each subject is what the switch brings', async () => {
  await using redis = await startRedis()
  await replay(`redis://127.0.0.1:${redis.port}`)
  const keys = redisCli(redis.port, 'KEYS', '*').split('\n')
  const own = keys.filter((key) => /^weir:\{\w+\}:s:api:user-/.test(key))
  const rehearsed = keys.filter((key) => /^weir:\{\w+\}:r:s:api:user-/.test(key))
  expect([own.length, rehearsed.length]).toEqual([traffic.length, traffic.length])
})

test('a candidate with a mistake keeps no limiter from starting, and says where it is; a mended one is rehearsed', async () => {
  await using limiter = await openLimiter('memory:', { candidate: CANDIDATE.replace('capacity: 6', 'capacity: lots') })
  expect(await limiter.diff()).toMatchObject({
    state: 'waiting',
    candidate: { problems: [{ path: 'policies[0].capacity' }], generation: 0, loadedAt: null },
  })
  expect(limiter.output()).toContain('candidate policies rejected')
  await limiter.client.shouldAllow({ domain: 'api', attributes: { client: 'a', plan: 'free' } })
  await writeFile(limiter.files.candidate, CANDIDATE)
  await until(async () => (await limiter.diff()).state === 'running')
  expect(limiter.output()).toContain('candidate policies reloaded')
  await limiter.client.shouldAllow({ domain: 'api', attributes: { client: 'a', plan: 'free' } })
  const { comparison } = await compared(limiter, 1)
  await writeFile(limiter.files.candidate, CANDIDATE.replace('capacity: 6', 'capacity: 7'))
  await until(async () => (await limiter.diff()).comparison.since !== comparison.since)
  await compared(limiter, 0)
  const metrics = await limiter.admin('/metrics')
  expect(metrics).toContain('weir_rehearsed_requests_total{result="same"} 1\n')
  expect(metrics).toContain('weir_candidate_reload_rejected 0\n')
})

test('a part of the subjects is rehearsed, each of them with all of its requests', async () => {
  await using limiter = await openLimiter('memory:', { subjectsPercent: 50 })
  const asked = 200
  for (const _round of [1, 2])
    await Promise.all(
      Array.from({ length: asked }, (_, index) =>
        limiter.client.shouldAllow({ domain: 'api', attributes: { client: `user-${index}`, plan: 'free' } }),
      ),
    )
  await until(async () => (await limiter.diff()).comparison.compared > 0)
  const { compared: count } = (await limiter.diff()).comparison
  expect(count % 2).toBe(0)
  expect(count / 2).toBeGreaterThan(asked * 0.3)
  expect(count / 2).toBeLessThan(asked * 0.7)
})
