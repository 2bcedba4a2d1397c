import { ServerCredentials } from '@grpc/grpc-js'
import { expect, test } from 'vitest'
import { type Check, domainName } from '../../contract/check.ts'
import { type Certificate, createAuthority } from '../../platform/certificates.fixture.ts'
import type { TlsMaterial } from '../channel/http2-link.ts'
import { allow, openScriptedLimiter } from '../scripted-limiter.fixture.ts'
import { until } from '../until.fixture.ts'
import { createStreamTransport } from './stream-transport.ts'

const check: Check = { domain: domainName('api'), attributes: new Map([['client', 'a']]), cost: 1 }

type Authority = ReturnType<typeof createAuthority>

/** A limiter that answers only those whom its authority knows. */
const openLimiter = (authority: Authority, clients: Authority) => {
  const { certText, keyText } = authority.issue('limiter')
  const identity = [{ cert_chain: Buffer.from(certText), private_key: Buffer.from(keyText) }]
  return openScriptedLimiter(() => allow, {
    credentials: ServerCredentials.createSsl(Buffer.from(clients.caText), identity, true),
  })
}

const identityOf = ({ certText, keyText }: Certificate) => ({ cert: certText, key: keyText })

const open = (address: string, tls: () => TlsMaterial) => {
  const reasons: string[] = []
  const transport = createStreamTransport({
    address,
    tls,
    names: { resolve: async () => ['127.0.0.1'] },
    observe: { connected: () => {}, lost: (_, reason) => reasons.push(reason), askedAgain: () => {} },
  })
  return {
    reasons,
    untilAnswered: () =>
      until(
        () => transport.ask(check, 1_000),
        ({ ok }) => ok,
      ),
    untilLost: () =>
      until(
        async () => {
          await transport.ask(check, 1_000)
          return reasons.length
        },
        (count) => count > 1,
      ),
    [Symbol.asyncDispose]: () => transport[Symbol.asyncDispose](),
  }
}

test('both ends show a certificate, over an address and over a name that stands for it', async () => {
  using authority = createAuthority()
  await using limiter = await openLimiter(authority, authority)
  const tls = { ca: authority.caText, identity: identityOf(authority.issue('api')) }
  for (const address of [limiter.address, `dns:///localhost:${limiter.port}`]) {
    await using client = open(address, () => tls)
    await client.untilAnswered()
  }
})

test('a limiter of another authority, or of another name, is not asked', async () => {
  using authority = createAuthority()
  using other = createAuthority()
  await using limiter = await openLimiter(authority, authority)
  const identity = identityOf(authority.issue('api'))
  await using distrusting = open(limiter.address, () => ({ ca: other.caText, identity }))
  await distrusting.untilLost()
  await using elsewhere = open(`dns:///limiter.weir:${limiter.port}`, () => ({ ca: authority.caText, identity }))
  await elsewhere.untilLost()
  expect(elsewhere.reasons[0]).toContain('limiter.weir')
  expect(limiter.state.asked).toBe(0)
})

test.each(['no certificate', 'one of another authority', 'none that can be read'])(
  'a limiter does not answer a client that shows %s',
  async (kind) => {
    using authority = createAuthority()
    using other = createAuthority()
    await using limiter = await openLimiter(authority, authority)
    const identities = {
      'no certificate': undefined,
      'one of another authority': identityOf(other.issue('api')),
      'none that can be read': { cert: 'this is none', key: 'nor is this' },
    }
    const identity = identities[kind as keyof typeof identities]
    await using client = open(limiter.address, () => ({ ca: authority.caText, identity }))
    await client.untilLost()
    expect(limiter.state.asked).toBe(0)
  },
)

test('a limiter that asks with TLS is not asked without it', async () => {
  using authority = createAuthority()
  await using limiter = await openLimiter(authority, authority)
  await using plain = createStreamTransport({ address: limiter.address })
  expect(await plain.ask(check, 2_000)).toMatchObject({ ok: false })
})

test('a new connection uses the certificates of its time', async () => {
  using authority = createAuthority()
  using next = createAuthority()
  await using limiter = await openLimiter(authority, next)
  let tls: TlsMaterial = { ca: authority.caText, identity: identityOf(authority.issue('api')) }
  await using client = open(limiter.address, () => tls)
  await client.untilLost()
  tls = { ca: authority.caText, identity: identityOf(next.issue('api')) }
  await client.untilAnswered()
})
