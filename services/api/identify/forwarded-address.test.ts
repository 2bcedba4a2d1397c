import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { clientAddress, MAX_HOPS } from './forwarded-address.ts'
import { type Cidr, parseCidr } from './ip-address.ts'

const cidrs = (...texts: readonly string[]): readonly Cidr[] =>
  texts.map((text) => parseCidr(text) ?? expect.fail(`${text} is no CIDR`))

const trustedProxies = cidrs('10.0.0.0/8', '192.168.7.7', '2001:db8:aaaa::/48')
const proxy = '10.0.0.1'

describe('the address that a request is charged to', () => {
  const cases: readonly (readonly [
    claim: string,
    peer: string | undefined,
    forwardedFor: string | undefined,
    key: string,
  ])[] = [
    ['no header: the peer', '198.51.100.7', undefined, '198.51.100.7'],
    ['no header from a trusted proxy: the proxy', proxy, undefined, '10.0.0.1'],
    ['an untrusted peer is its own address, whatever it writes', '198.51.100.7', '203.0.113.9', '198.51.100.7'],
    [
      'an untrusted peer that claims a proxy is its own address',
      '198.51.100.7',
      '203.0.113.9, 10.0.0.1',
      '198.51.100.7',
    ],
    ['one trusted hop: the address that it wrote', proxy, '203.0.113.9', '203.0.113.9'],
    ['two trusted hops: the address before them', proxy, '203.0.113.9, 10.2.3.4', '203.0.113.9'],
    ['a spoofed address on the left is not looked at', proxy, '1.1.1.1, 203.0.113.9', '203.0.113.9'],
    ['a spoofed proxy on the left is not looked at', proxy, '10.9.9.9, 203.0.113.9, 10.2.3.4', '203.0.113.9'],
    ['an untrusted address between trusted ones ends the walk', proxy, '1.1.1.1, 10.9.9.9, 203.0.113.9', '203.0.113.9'],
    ['all trusted: the farthest of them', proxy, '10.0.0.3, 10.0.0.2', '10.0.0.3'],
    ['garbage stops at the last trusted hop', proxy, '203.0.113.9, unknown, 10.2.3.4', '10.2.3.4'],
    ['garbage next to the peer stops at the peer', proxy, '203.0.113.9, _hidden', '10.0.0.1'],
    ['only garbage: the peer', proxy, 'for=203.0.113.9', '10.0.0.1'],
    ['an empty header: the peer', proxy, '', '10.0.0.1'],
    ['only commas and spaces: the peer', proxy, ' , ,, ', '10.0.0.1'],
    ['empty parts are skipped', proxy, '1.1.1.1,,203.0.113.9, ,10.2.3.4,', '203.0.113.9'],
    ['a leading comma changes nothing', proxy, ',203.0.113.9', '203.0.113.9'],
    ['no spaces', proxy, '1.1.1.1,203.0.113.9,10.2.3.4', '203.0.113.9'],
    ['tabs and many spaces', proxy, '1.1.1.1 ,\t 203.0.113.9\t', '203.0.113.9'],
    ['a port is dropped', proxy, '203.0.113.9:443', '203.0.113.9'],
    ['a port on a trusted hop is dropped', proxy, '203.0.113.9, 10.2.3.4:8080', '203.0.113.9'],
    ['a port of six digits is garbage', proxy, '203.0.113.9:123456', '10.0.0.1'],
    ['a port of no digits is garbage', proxy, '203.0.113.9:', '10.0.0.1'],
    ['IPv6 is charged by its /64', proxy, '2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['another address of the same /64 is the same client', proxy, '2001:db8:1:2:ffff::1', '2001:db8:1:2::/64'],
    ['IPv6 in brackets', proxy, '[2001:db8:1:2::1]', '2001:db8:1:2::/64'],
    ['IPv6 in brackets with a port', proxy, '[2001:db8:1:2::1]:443', '2001:db8:1:2::/64'],
    ['IPv6 in capitals, written out', proxy, '2001:0DB8:0001:0002:0000:0000:0000:0001', '2001:db8:1:2::/64'],
    ['IPv6 with a zone', proxy, 'fe80::1%eth0', 'fe80::/64'],
    ['IPv6 with an open bracket is garbage', proxy, '[2001:db8::1', '10.0.0.1'],
    ['IPv4 in brackets is garbage', proxy, '[203.0.113.9]', '10.0.0.1'],
    ['the loopback of IPv6', '::1', undefined, '::/64'],
    ['IPv4 written as IPv6 is IPv4', proxy, '::ffff:203.0.113.9', '203.0.113.9'],
    ['IPv4 written as IPv6 in hexadecimal is IPv4', proxy, '::ffff:cb00:7109', '203.0.113.9'],
    ['a peer of a dual-stack socket is IPv4', '::ffff:198.51.100.7', undefined, '198.51.100.7'],
    ['a proxy on a dual-stack socket is trusted', '::ffff:10.0.0.1', '203.0.113.9', '203.0.113.9'],
    ['a trusted IPv6 proxy', '2001:db8:aaaa::1', '203.0.113.9, 2001:db8:aaaa:9::2', '203.0.113.9'],
    ['an IPv6 proxy outside the block is a client', '2001:db8:aaab::1', '203.0.113.9', '2001:db8:aaab::/64'],
    ['a proxy named by its one address', '192.168.7.7', '203.0.113.9', '203.0.113.9'],
    ['the neighbour of a proxy named by its one address', '192.168.7.8', '203.0.113.9', '192.168.7.8'],
    ['leading zeros are garbage: two readers would differ', proxy, '203.0.113.010', '10.0.0.1'],
    ['leading zeros inside IPv6 are garbage too', proxy, '::ffff:010.1.1.1', '10.0.0.1'],
    ['hexadecimal IPv4 is garbage', proxy, '0x7f.0.0.1', '10.0.0.1'],
    ['IPv4 in short is garbage', proxy, '127.1', '10.0.0.1'],
    ['IPv4 as one number is garbage', proxy, '2130706433', '10.0.0.1'],
    ['a host name is garbage', proxy, 'client.example', '10.0.0.1'],
    ['a quoted address is garbage', proxy, '"203.0.113.9"', '10.0.0.1'],
    ['an address with a suffix is garbage', proxy, '203.0.113.9;by=evil', '10.0.0.1'],
    ['100 spoofed hops before the real one', proxy, `${'1.1.1.1, '.repeat(100)}203.0.113.9`, '203.0.113.9'],
    ['99 trusted hops are walked', proxy, `203.0.113.9${', 10.0.0.2'.repeat(99)}`, '203.0.113.9'],
    ['no more than 100 hops are walked', proxy, `203.0.113.9, 10.0.0.3${', 10.0.0.2'.repeat(100)}`, '10.0.0.2'],
    ['a peer that has gone', undefined, '203.0.113.9', 'unknown'],
  ]
  test.each(cases)('%s', (_claim, peer, forwardedFor, key) => {
    expect(clientAddress({ peer, forwardedFor, trustedProxies })).toBe(key)
  })

  test('the table has at least 30 cases, and no claim twice', () => {
    expect(cases.length).toBeGreaterThanOrEqual(30)
    expect(new Set(cases.map(([claim]) => claim)).size).toBe(cases.length)
  })
})

describe('what a client writes on the left never changes its key', () => {
  const publicAddress = fc.oneof(
    fc.ipV4().filter((text) => !/^(10\.|192\.168\.7\.7$)/.test(text)),
    fc.ipV6().filter((text) => !text.toLowerCase().startsWith('2001:db8:aaaa:') && !/\.|^(0*:)*:?ffff:/i.test(text)),
  )
  const trustedHop = fc.constantFrom('10.1.2.3', '10.255.255.255', '192.168.7.7', '2001:db8:aaaa::5', '::ffff:10.0.0.9')
  const written = fc.oneof(
    fc.string({ unit: fc.integer({ min: 0x20, max: 0xff }).map((code) => String.fromCharCode(code)), maxLength: 200 }),
    fc.array(fc.oneof(fc.ipV4(), fc.ipV6(), trustedHop, fc.constantFrom('', ' ', 'unknown', '[', ':443'))).map(String),
  )

  test('through any number of trusted proxies', () => {
    fc.assert(
      fc.property(written, publicAddress, fc.array(trustedHop, { maxLength: 20 }), (left, client, hops) => {
        const honest = [client, ...hops].join(', ')
        const key = clientAddress({ peer: proxy, forwardedFor: honest, trustedProxies })
        expect(key).toBe(clientAddress({ peer: client, forwardedFor: undefined, trustedProxies }))
        expect(clientAddress({ peer: proxy, forwardedFor: `${left}, ${honest}`, trustedProxies })).toBe(key)
      }),
      { numRuns: 5_000 },
    )
  })

  test('without a proxy, nothing that it writes does', () => {
    fc.assert(
      fc.property(written, publicAddress, (left, peer) => {
        expect(clientAddress({ peer, forwardedFor: left, trustedProxies })).toBe(
          clientAddress({ peer, forwardedFor: undefined, trustedProxies }),
        )
      }),
      { numRuns: 2_000 },
    )
  })
})

test('a header of 16 KiB of commas is read within the bound on hops', () => {
  expect(clientAddress({ peer: proxy, forwardedFor: ','.repeat(16_384), trustedProxies })).toBe('10.0.0.1')
  expect(MAX_HOPS).toBe(100)
})
