import { expect, test } from 'vitest'
import { json, openAdminServer, text } from './admin-server.ts'
import { createMetrics } from './metrics.ts'

const open = async (routes: Parameters<typeof openAdminServer>[0]['routes']) => {
  const opened = await openAdminServer({
    setting: 'ADMIN',
    address: { kind: 'tcp', host: '127.0.0.1', port: 0 },
    routes,
  })
  if (!opened.ok) throw new Error(opened.fault)
  return opened.server
}

test('a page is served by its path, whatever the query', async () => {
  await using server = await open({
    '/livez': () => text(200, 'alive'),
    '/policies': async () => json({ generation: 1 }),
  })
  const alive = await fetch(`http://127.0.0.1:${server.port}/livez?x=1`)
  expect([alive.status, await alive.text()]).toEqual([200, 'alive\n'])
  const policies = await fetch(`http://127.0.0.1:${server.port}/policies`)
  expect(policies.headers.get('content-type')).toBe('application/json')
  expect(await policies.json()).toEqual({ generation: 1 })
})

test('unknown paths, other methods and pages that fail get a status that says so', async () => {
  await using server = await open({
    '/livez': () => text(200, 'alive'),
    '/broken': () => {
      throw new Error('on purpose')
    },
  })
  const status = async (path: string, method = 'GET') =>
    (await fetch(`http://127.0.0.1:${server.port}${path}`, { method })).status
  expect(await status('/nothing')).toBe(404)
  expect(await status('/constructor')).toBe(404)
  expect(await status('/livez', 'POST')).toBe(405)
  expect(await status('/livez', 'HEAD')).toBe(200)
  expect(await status('/broken')).toBe(500)
  expect(await status('/livez')).toBe(200)
})

test('a question is answered by POST, in JSON and of a bounded size, so that no page of another site can ask it', async () => {
  await using server = await open({
    '/ask': { post: async ({ body, authorization }) => json({ body, authorization }) },
    '/livez': () => text(200, 'alive'),
  })
  const ask = (body: string, headers: Readonly<Record<string, string>> = { 'content-type': 'application/json' }) =>
    fetch(`http://127.0.0.1:${server.port}/ask`, { method: 'POST', body, headers })
  const answered = await ask('{"a":1}', { 'content-type': 'application/json', authorization: 'Bearer x' })
  expect(await answered.json()).toEqual({ body: { a: 1 }, authorization: 'Bearer x' })
  expect((await ask('{"a":1}', { 'content-type': 'text/plain' })).status).toBe(415)
  expect((await ask('{"a":')).status).toBe(400)
  expect((await ask(JSON.stringify('x'.repeat(200_000)))).status).toBe(413)
  const wrong = await fetch(`http://127.0.0.1:${server.port}/ask`)
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST'])
})

test('an address in use is a fault that names the setting', async () => {
  await using server = await open({})
  const address = { kind: 'tcp', host: '127.0.0.1', port: server.port } as const
  expect(await openAdminServer({ setting: 'ADMIN', address, routes: {} })).toEqual({
    ok: false,
    fault: expect.stringMatching(/^ADMIN: cannot listen on 127\.0\.0\.1:\d+: another process uses it\..*free address/),
  })
})

test('metrics are read when they are asked for', async () => {
  const metrics = createMetrics()
  let value = 1
  metrics.counter({
    name: 'weir_things_total',
    help: 'Things',
    labels: ['kind'],
    read: () => [{ labels: { kind: 'a' }, value }],
  })
  await using server = await open({ '/metrics': metrics.page })
  const scrape = async () => (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
  expect(await scrape()).toContain('weir_things_total{kind="a"} 1\n')
  value = 5
  const page = await scrape()
  expect(page).toContain('weir_things_total{kind="a"} 5\n')
  expect(page).toContain('process_cpu_seconds_total')
})
