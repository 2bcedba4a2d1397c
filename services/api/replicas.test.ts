// Three API processes on one PostgreSQL, behind one limiter: to their callers they are one API.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { freePort } from '../platform/service.fixture.ts'
import { makeKey } from './app.fixture.ts'
import { startPostgres } from './database/postgres.fixture.ts'
import type { Plan } from './identify/caller.ts'
import { formatKeyLine } from './identify/key-line.ts'
import { openFolder, startApi, startLimiter } from './process.fixture.ts'

const policies = `
domain: api
subject: client
policies:
  - { name: plenty, match: { plan: pro }, by: [client], capacity: 1000000, refill: 1000000/s }
  - { name: counted, match: { plan: free }, by: [client], capacity: 100, refill: 1/h }
`

const REPLICAS = 3
const oldSecret = randomUUID()
const newSecret = randomUUID()

const keyOf = (owner: string, plan: Plan) => {
  const key = makeKey(owner, 'orders:read', 'orders:write')
  return { ...key, record: { ...key.record, plan } }
}
const keys = {
  reader: keyOf('reader', 'pro'),
  walker: keyOf('walker', 'pro'),
  sender: keyOf('sender', 'pro'),
  rotation: keyOf('rotation', 'pro'),
  counted: keyOf('counted', 'free'),
}

type Replica = Awaited<ReturnType<typeof startApi>>

const opened = new AsyncDisposableStack()
let databaseUrl = ''
let startReplica: (index: number) => Promise<Replica>
/** Those that take requests now. */
let serving: Replica[] = []
const secretFiles: string[] = []

beforeAll(async () => {
  const folder = opened.use(await openFolder())
  const at = (name: string) => join(folder.path, name)
  const postgres = opened.use(await startPostgres())
  databaseUrl = await postgres.createDatabase()
  await writeFile(at('policies.yaml'), policies)
  await writeFile(
    at('keys'),
    Object.values(keys)
      .map(({ record }) => formatKeyLine(record))
      .join('\n'),
  )
  const port = await freePort()
  opened.use(await startLimiter(port, at('policies.yaml')))
  for (let index = 0; index < REPLICAS; index += 1) {
    // Each has a copy of its own, as pods have, which changes at a time of its own.
    secretFiles.push(at(`secrets-${index}`))
    await writeFile(at(`secrets-${index}`), oldSecret)
  }
  startReplica = async (index) =>
    opened.use(
      await startApi({
        DATABASE_URL: databaseUrl,
        API_DEMO_ORDERS: 'yes',
        API_KEYS: at('keys'),
        API_CURSOR_SECRET_FILE: secretFiles[index] ?? '',
        API_LIMITER: `127.0.0.1:${port}`,
        // Slow machines count too: nothing here may be decided by a replica alone.
        API_LIMITER_DEADLINE_MS: '10000',
      }),
    )
  serving = await Promise.all(secretFiles.map((_, index) => startReplica(index)))
})

afterAll(() => opened.disposeAsync())

type Sent = {
  readonly key: { readonly header: Readonly<Record<string, string>> }
  readonly method?: string
  readonly path: string
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** Whoever is next, as a load balancer does it. */
let turn = 0
const nextReplica = () => {
  turn += 1
  return serving[turn % serving.length] ?? expect.fail('no replica serves')
}

const send = async ({ key, method = 'GET', path, body, headers }: Sent, replica = nextReplica()) => {
  const response = await fetch(`${replica.url}${path}`, {
    method,
    headers: { ...key.header, ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
}

const item = { sku: 'A', quantity: 1, unit_price: 100 }
const create = async (key: Sent['key'], change: object = {}): Promise<string> => {
  const body = { currency: 'EUR', items: [item], ...change }
  const created = await send({ key, method: 'POST', path: '/v1/orders', body })
  expect(created.status).toBe(201)
  return created.body.id
}
const createMany = (key: Sent['key'], count: number) =>
  Promise.all(Array.from({ length: count }, () => create(key, { state: 'placed' })))

type Page = { readonly ids: readonly string[]; readonly isLast: boolean }

/** Every page of a list, each from another replica than the one before. */
const walk = async (key: Sent['key'], path: string, afterPage: (page: Page) => Promise<unknown> = async () => {}) => {
  const seen: string[] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const answer = await send({ key, path: `${path}${cursor === '' ? '' : `&cursor=${cursor}`}` })
    expect(answer).toMatchObject({ status: 200 })
    const { data, page } = answer.body
    const ids = data.map(({ id }: { id: string }) => id)
    seen.push(...ids)
    cursor = page.next_cursor
    await afterPage({ ids, isLast: cursor === null })
  }
  return seen
}

test('processes that start at once on an empty database make its tables and demo orders once', async () => {
  expect(serving).toHaveLength(REPLICAS)
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows: applied } = await client.query('select number from schema_migrations order by number')
    expect(applied.map(({ number }) => number)).toEqual(applied.map((_, index) => index + 1))
    const { rows: demo } = await client.query(`select reference from orders where owner = 'public'`)
    expect(demo.length).toBeGreaterThan(0)
    expect(new Set(demo.map(({ reference }) => reference)).size).toBe(demo.length)
  } finally {
    await client.end()
  }
})

test('what one replica has done, every replica answers', async () => {
  const fifty = (path: string) =>
    Promise.all(Array.from({ length: 50 }, () => send({ key: keys.reader, path }))).then((answers) =>
      answers.map(({ status, headers, body }) => ({ status, tag: headers.get('etag'), body })),
    )
  for (const replica of serving) {
    const body = { currency: 'EUR', items: [item] }
    const created = await send({ key: keys.reader, method: 'POST', path: '/v1/orders', body }, replica)
    expect(created.status).toBe(201)
    const path = created.headers.get('location') ?? ''
    const asCreated = { status: 200, tag: created.headers.get('etag'), body: created.body }
    expect(await fifty(path)).toEqual(Array(50).fill(asCreated))

    const changed = await send({ key: keys.reader, method: 'PATCH', path, body: { note: 'Ring twice.' } })
    const asChanged = { status: 200, tag: changed.headers.get('etag'), body: { ...changed.body, note: 'Ring twice.' } }
    expect(asChanged.tag).not.toBe(asCreated.tag)
    expect(await fifty(path)).toEqual(Array(50).fill(asChanged))

    expect((await send({ key: keys.reader, method: 'DELETE', path })).status).toBe(204)
    expect((await fifty(path)).map(({ status }) => status)).toEqual(Array(50).fill(404))
  }
})

test('a walk over all replicas has no gap and no repeat while orders come and go', async () => {
  const key = keys.walker
  const ids = await createMany(key, 90)
  const doomed = new Set(ids.filter((_, index) => index % 3 === 0))
  const staying = new Set(ids.filter((id) => !doomed.has(id)))
  const remove = async (id: string | undefined) => {
    if (id === undefined) return
    const { status } = await send({ key, method: 'DELETE', path: `/v1/orders/${id}` })
    expect([204, 404]).toContain(status)
    doomed.delete(id)
  }
  let removedUnderCursor = 0
  const churn = async ({ ids: page, isLast }: Page) => {
    const last = page.at(-1)
    // The order that the next page begins after goes away, and one that may lie anywhere; a new one comes.
    if (!isLast && last !== undefined && doomed.has(last)) {
      removedUnderCursor += 1
      await remove(last)
    }
    await Promise.all([remove(doomed.values().next().value), create(key, { state: 'placed' })])
  }
  const walks = await Promise.all([
    walk(key, '/v1/orders?limit=3', churn),
    walk(key, '/v1/orders?limit=5', churn),
    walk(key, '/v1/orders?limit=7&state=placed', churn),
  ])
  expect(removedUnderCursor).toBeGreaterThan(0)
  const newestFirst = await walk(key, '/v1/orders?limit=100')
  for (const seen of walks) {
    expect(new Set(seen).size).toBe(seen.length)
    const stayed = seen.filter((id) => staying.has(id))
    expect(stayed).toEqual(newestFirst.filter((id) => staying.has(id)))
    expect(stayed).toHaveLength(staying.size)
  }
})

test('a walk through the items of an order over all replicas has no gap and no repeat', async () => {
  const skus = Array.from({ length: 40 }, (_, index) => `SKU-${index}`)
  const body = { currency: 'EUR', items: skus.map((sku) => ({ ...item, sku })) }
  const created = await send({ key: keys.walker, method: 'POST', path: '/v1/orders', body })
  const ids = created.body.items.map(({ id }: { id: string }) => id)
  expect(await walk(keys.walker, `/v1/orders/${created.body.id}/items?limit=7`)).toEqual(ids)
})

test('one Idempotency-Key sent to all replicas at once creates one order, which all answers are about', async () => {
  const key = keys.sender
  const sendOnce = async (idempotencyKey: string, replica: Replica): ReturnType<typeof send> => {
    const answer = await send(
      {
        key,
        method: 'POST',
        path: '/v1/orders',
        body: { currency: 'EUR', items: [item] },
        headers: { 'idempotency-key': idempotencyKey },
      },
      replica,
    )
    if (answer.status !== 409) return answer
    expect(answer.body.error.code).toBe('idempotency_key_in_use')
    await delay(Number(answer.headers.get('retry-after')) * 1000)
    return sendOnce(idempotencyKey, replica)
  }
  const rounds = 3
  for (let round = 0; round < rounds; round += 1) {
    const idempotencyKey = randomUUID()
    const answers = await Promise.all(
      serving.flatMap((replica) => Array.from({ length: 10 }, () => sendOnce(idempotencyKey, replica))),
    )
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 201))
    expect(new Set(answers.map(({ headers }) => headers.get('location'))).size).toBe(1)
    expect(new Set(answers.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  }
  expect(await walk(key, '/v1/orders?limit=100')).toHaveLength(rounds)
})

test('the limit is one limit over all replicas, to the token', async () => {
  const perReplica = 100
  const answers = await Promise.all(
    serving.flatMap((replica) =>
      Array.from({ length: perReplica }, () => send({ key: keys.counted, path: '/v1/orders?limit=1' }, replica)),
    ),
  )
  const admitted = answers.filter(({ status }) => status === 200)
  expect(admitted).toHaveLength(100)
  expect(answers.filter(({ status }) => status === 429)).toHaveLength(REPLICAS * perReplica - 100)
  // One bucket: each of its tokens was told to be left exactly once.
  const remaining = admitted.map(({ headers }) => Number(headers.get('ratelimit-remaining')))
  expect(remaining.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 100 }, (_, index) => index))
})

test('cursor secrets are rotated without an error, and a walk that goes on meanwhile notices nothing', async () => {
  const key = keys.rotation
  const ids = new Set(await createMany(key, 30))
  const firstCursor = async () => (await send({ key, path: '/v1/orders?limit=3' })).body.page.next_cursor as string
  const statusesOf = (cursor: string) =>
    Promise.all(serving.map((replica) => send({ key, path: `/v1/orders?limit=3&cursor=${cursor}` }, replica))).then(
      (answers) => answers.map(({ status }) => status),
    )
  const ofOldSecret = await firstCursor()

  let isRotated = false
  let walks = 0
  const walker = (async () => {
    while (!isRotated) {
      expect(new Set(await walk(key, '/v1/orders?limit=3'))).toEqual(ids)
      walks += 1
    }
  })()

  const reloads = (replica: Replica) => replica.stdout().split('cursor secrets reloaded').length - 1
  const write = async (index: number, ...secrets: readonly string[]) => {
    const replica = serving[index] ?? expect.fail(`replica ${index} does not serve`)
    const before = reloads(replica)
    await writeFile(secretFiles[index] ?? '', secrets.join('\n'))
    await vi.waitFor(() => expect(reloads(replica)).toBeGreaterThan(before), { timeout: 60_000 })
  }
  const restart = async (index: number, ...secrets: readonly string[]) => {
    const replica = serving[index] ?? expect.fail(`replica ${index} does not serve`)
    const others = serving.filter((other) => other !== replica)
    serving = others
    await writeFile(secretFiles[index] ?? '', secrets.join('\n'))
    replica.child.kill('SIGTERM')
    expect(await replica.exited).toBe(0)
    serving = others.toSpliced(index, 0, await startReplica(index))
  }

  // At each moment some replicas are a step ahead of the others.
  await write(0, oldSecret, newSecret)
  await Promise.all([write(1, oldSecret, newSecret), write(2, oldSecret, newSecret)])
  await restart(0, newSecret, oldSecret)
  await Promise.all([write(1, newSecret, oldSecret), write(2, newSecret, oldSecret)])
  isRotated = true
  await walker
  expect(walks).toBeGreaterThan(3)

  const ofNewSecret = await firstCursor()
  expect(await statusesOf(ofOldSecret)).toEqual([200, 200, 200])
  await Promise.all(secretFiles.map((_, index) => write(index, newSecret)))
  expect(await statusesOf(ofNewSecret)).toEqual([200, 200, 200])
  expect(await statusesOf(ofOldSecret)).toEqual([400, 400, 400])

  // A file that has been damaged changes nothing.
  const damaged = serving[0] ?? expect.fail('no replica serves')
  await writeFile(secretFiles[0] ?? '', 'short')
  await vi.waitFor(() => expect(damaged.stdout()).toContain('the last good ones stay in force'), { timeout: 60_000 })
  expect(await statusesOf(ofNewSecret)).toEqual([200, 200, 200])
})

test('nothing of all this was decided by a replica alone', async () => {
  for (const { adminUrl } of serving)
    expect(await (await fetch(`${adminUrl}/metrics`)).text()).not.toContain('source="fallback"')
})
