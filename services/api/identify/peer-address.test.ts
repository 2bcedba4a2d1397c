import { expect, test } from 'vitest'
import { parseCidr } from './ip-address.ts'
import { peerAddress } from './peer-address.ts'

const trustedProxies = [parseCidr('10.0.0.0/8') ?? expect.fail(), parseCidr('2001:db8:1::/48') ?? expect.fail()]

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:2:3:4:5:6:7', '2001:db8:2:3::/64'],
  ['10.1.2.3', undefined],
  ['::ffff:10.1.2.3', undefined],
  ['2001:db8:1::5', undefined],
  [undefined, undefined],
])('a connection from %s counts for %s', (peer, address) => {
  expect(peerAddress(peer, trustedProxies)).toBe(address)
})
