import { connect as connectTls } from 'node:tls'
import { credentials, status } from '@grpc/grpc-js'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { type Certificate, createAuthority } from '../../platform/certificates.fixture.ts'
import type { Refused } from '../listen/listener.ts'
import { openClient, openServer } from './server.fixture.ts'

const authority = createAuthority()
const stranger = createAuthority()
afterAll(() => {
  authority[Symbol.dispose]()
  stranger[Symbol.dispose]()
})
const server = authority.issue('limiter')
const client = authority.issue('api')

const shown = ({ certText, keyText }: Certificate, clientCa?: string) => ({ cert: certText, key: keyText, clientCa })

const secure = (ca: string, identity?: Certificate) =>
  credentials.createSsl(
    Buffer.from(ca),
    identity && Buffer.from(identity.keyText),
    identity && Buffer.from(identity.certText),
  )

const ask = { domain: 'api', attributes: { client: 'a' }, cost: 0 }
const answered = { ok: true, response: { verdict: 'ALLOW' } }
const unanswered = { ok: false, error: { code: status.UNAVAILABLE } }

const askOnce = async (port: number, security: ReturnType<typeof secure>) => {
  using asker = openClient(`localhost:${port}`, security)
  return await asker.shouldAllow(ask)
}

/** The name in the certificate that a new connection is shown. */
const shownName = (port: number) =>
  new Promise<unknown>((resolve, reject) => {
    const socket = connectTls({ port, host: '127.0.0.1', ca: authority.caText, ALPNProtocols: ['h2'] }, () => {
      resolve(socket.getPeerCertificate().subject.CN)
      socket.destroy()
    })
    socket.once('error', reject)
  })

describe('with a certificate', () => {
  test('whoever believes its authority is served, whoever does not is not, nor is plain text', async () => {
    await using opened = await openServer({ tls: shown(server) })
    expect(await askOnce(opened.port, secure(authority.caText))).toMatchObject(answered)
    expect(await askOnce(opened.port, secure(stranger.caText))).toMatchObject(unanswered)
    expect(await askOnce(opened.port, credentials.createInsecure())).toMatchObject(unanswered)
  })

  test('a client that does not say HTTP/2 is not served', async () => {
    await using opened = await openServer({ tls: shown(server) })
    const socket = connectTls({ port: opened.port, host: '127.0.0.1', ca: authority.caText })
    socket.on('error', () => {})
    await new Promise((resolve) => socket.once('close', resolve))
  })
})

describe('with an authority of clients', () => {
  test.each([
    ['one of another authority', stranger.issue('api')],
    ['one that expired', authority.issue('api', { days: -1 })],
    ['none', undefined],
  ])('%s is refused, and told; a right one is served', async (_, wrong) => {
    const refused: Refused[] = []
    const tls = shown(server, authority.caText)
    await using opened = await openServer({ tls, onRefused: (one) => refused.push(one) })
    expect(await askOnce(opened.port, secure(authority.caText, wrong))).toMatchObject(unanswered)
    await vi.waitFor(() => expect(refused.length).toBeGreaterThan(0), 10_000)
    expect(await askOnce(opened.port, secure(authority.caText, client))).toMatchObject(answered)
  })
})

test('other certificates are shown to new connections; those that are there lose no call', async () => {
  await using opened = await openServer({ tls: shown(server, authority.caText) })
  using old = openClient(`localhost:${opened.port}`, secure(authority.caText, client))
  expect(await old.shouldAllow(ask)).toMatchObject(answered)
  let isDone = false
  let asked = 0
  const failures: unknown[] = []
  const load = async () => {
    while (!isDone) {
      for (const reply of [await old.shouldAllow(ask), await askOnce(opened.port, secure(authority.caText, client))])
        if (!reply.ok) failures.push(reply.error)
      asked += 1
    }
  }
  const loads = [load(), load()]
  for (const name of ['second', 'third', 'fourth']) {
    opened.server.renewTls(shown(authority.issue(name), authority.caText))
    const before = asked
    while (asked < before + 4) await new Promise((resolve) => setTimeout(resolve, 5))
  }
  isDone = true
  await Promise.all(loads)
  expect(failures).toEqual([])
  opened.server.renewTls(shown(authority.issue('last')))
  expect(await shownName(opened.port).catch(String)).toBe('last')
}, 60_000)

test('other authorities of clients count for new connections', async () => {
  await using opened = await openServer({ tls: shown(server, authority.caText) })
  using old = openClient(`localhost:${opened.port}`, secure(authority.caText, client))
  expect(await old.shouldAllow(ask)).toMatchObject(answered)
  opened.server.renewTls(shown(server, stranger.caText))
  expect(await old.shouldAllow(ask)).toMatchObject(answered)
  expect(await askOnce(opened.port, secure(authority.caText, client))).toMatchObject(unanswered)
  expect(await askOnce(opened.port, secure(authority.caText, stranger.issue('api')))).toMatchObject(answered)
})
