// How many connections there may be, and what they may leave unread.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, test, vi } from 'vitest'
import { allowed, denied, openApp } from './app.fixture.ts'
import { createConnectionBook } from './http/connection/connection-book.ts'
import { httpLimits } from './http/connection/limits.ts'
import { peerAddress } from './identify/peer-address.ts'

const WAIT = { timeout: 45_000 }

vi.setConfig({ testTimeout: 60_000 })

const portOf = (url: string) => Number(new URL(url).port)

const get = (target: string) => `GET ${target} HTTP/1.1\r\nHost: test\r\n\r\n`

/** A connection from an address of this machine, with all that it has received. */
const open = (url: string, localAddress = '127.0.0.1') => {
  const socket = connect({ port: portOf(url), host: '127.0.0.1', localAddress })
  let received = ''
  socket.setEncoding('latin1').on('data', (text) => (received += text))
  socket.on('error', () => {})
  return { socket, received: () => received }
}

const ask = async (client: ReturnType<typeof open>, target = '/v1/notes') => {
  const before = client.received().length
  client.socket.write(get(target))
  await vi.waitFor(() => expect(client.received().slice(before)).toContain('\r\n\r\n'), WAIT)
  return client.received().slice(before)
}

const closed = ({ socket }: { readonly socket: Socket }) => vi.waitFor(() => expect(socket.closed).toBe(true), WAIT)

const bookOf = (perAddress: number, connections: number = httpLimits.connections) =>
  createConnectionBook({ perAddress, connections, addressOf: (peer) => peerAddress(peer, []) })

test('an address has no more than its number of connections, until one of them has gone', async () => {
  const connections = bookOf(3)
  await using api = await openApp({ connections })
  const clients = Array.from({ length: 3 }, () => open(api.url))
  for (const client of clients) expect(await ask(client)).toContain('200 OK')

  const fourth = open(api.url)
  await closed(fourth)
  expect(fourth.received()).toBe('')
  expect(await ask(open(api.url, '127.0.0.2'))).toContain('200 OK')
  expect(connections.refused()).toEqual({ address: 1, total: 0 })
  expect(connections.open()).toBe(4)

  clients[0]?.socket.destroy()
  await vi.waitFor(() => expect(connections.open()).toBe(3), WAIT)
  expect(await ask(open(api.url))).toContain('200 OK')
})

test('a peer that is one of our proxies has any number of connections', async () => {
  const connections = createConnectionBook({ perAddress: 1, addressOf: () => undefined })
  await using api = await openApp({ connections })
  for (const client of Array.from({ length: 5 }, () => open(api.url))) expect(await ask(client)).toContain('200 OK')
  expect(connections.refused()).toEqual({ address: 0, total: 0 })
})

test('all addresses together have no more than the maximum', async () => {
  const connections = bookOf(100, 2)
  await using api = await openApp({ connections })
  const clients = Array.from({ length: 2 }, (_, index) => open(api.url, `127.0.1.${index + 1}`))
  for (const client of clients) await ask(client)
  await closed(open(api.url, '127.0.1.3'))
  expect(connections.refused()).toEqual({ address: 0, total: 1 })
  for (const client of clients) expect(await ask(client)).toMatch(/^HTTP\/1\.1 /)
})

test('near the maximum a refusal ends its connection, and an answer does not', async () => {
  let isDenied = false
  await using api = await openApp({ connections: bookOf(100, 10), decide: () => (isDenied ? denied : allowed) })
  const early = open(api.url)
  expect(await ask(early, '/v1/nowhere')).toContain('\r\nConnection: keep-alive')
  const clients = Array.from({ length: 8 }, () => open(api.url))
  for (const client of clients) expect(await ask(client)).toContain('\r\nConnection: keep-alive')

  isDenied = true
  const refused = await ask(early)
  expect(refused).toContain('429')
  expect(refused).toContain('connection: close')
  await closed(early)
})

test('what clients do not read is held in bounded memory: the slowest of them are left, the others served', async () => {
  const bytes = 4 * 1024 * 1024
  const fitting = httpLimits.unreadAnswerBytes / bytes
  await using api = await openApp({
    resources: [
      async (app) => {
        app.get('/v1/large', async (_request, reply) => reply.type('text/plain').send('a'.repeat(bytes)))
      },
    ],
  })
  const sockets: Socket[] = []
  api.app.server.on('connection', (socket) => sockets.push(socket))
  const silent = Array.from({ length: 3 * fitting }, () => {
    const socket = connect(portOf(api.url), '127.0.0.1')
    socket.on('error', () => {})
    // What the kernel holds of the first ones is not ours.
    socket.write(get('/v1/large').repeat(5))
    return socket
  })
  await vi.waitFor(() => expect(sockets.filter(({ destroyed }) => destroyed).length).toBeGreaterThan(fitting), WAIT)
  const heldBytes = () =>
    sockets.filter(({ destroyed }) => !destroyed).reduce((sum, { writableLength }) => sum + writableLength, 0)
  expect(heldBytes()).toBeLessThanOrEqual(httpLimits.unreadAnswerBytes + 1_000_000)

  const response = await fetch(`${api.url}/v1/large`)
  expect((await response.text()).length).toBe(bytes)
  for (const socket of silent) {
    socket.destroy()
    if (!socket.closed) await once(socket, 'close')
  }
})
