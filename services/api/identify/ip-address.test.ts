import { describe, expect, test } from 'vitest'
import { addressKey, contains, parseCidr, parseIpAddress } from './ip-address.ts'

const address = (text: string) => parseIpAddress(text) ?? expect.fail(`${text} is no address`)
const cidr = (text: string) => parseCidr(text) ?? expect.fail(`${text} is no CIDR`)

describe('a block of addresses', () => {
  test.each([
    ['10.0.0.0/8', '10.255.255.255', '11.0.0.0'],
    ['10.1.2.3/8', '10.9.9.9', '11.0.0.0'],
    ['192.0.2.1', '192.0.2.1', '192.0.2.2'],
    ['192.0.2.0/31', '192.0.2.1', '192.0.2.2'],
    ['2001:db8::/32', '2001:db8:ffff::1', '2001:db9::'],
    ['2001:db8::1', '2001:db8::1', '2001:db8::2'],
    ['::ffff:10.0.0.0/104', '10.255.255.255', '11.0.0.0'],
    ['::/1', '7fff::', '10.0.0.1'],
  ])('%s holds %s and not %s', (text, inside, outside) => {
    expect(contains(cidr(text), address(inside))).toBe(true)
    expect(contains(cidr(text), address(outside))).toBe(false)
  })

  test.each([
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/',
    '10.0.0.0/8/8',
    '10.0.0/8',
    '10.0.0.0/8x',
    '2001:db8::/129',
    '::ffff:10.0.0.0/96',
    'all',
    '',
  ])('%j is none', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })

  test.each(['0.0.0.0/0', '::/0'])('%s is none: whoever trusts everybody believes what clients write', (text) => {
    expect(parseCidr(text)).toBeUndefined()
  })
})

test('one address has one text', () => {
  expect(
    new Set(['192.0.2.1', '::ffff:192.0.2.1', '::FFFF:c000:201'].map((text) => addressKey(address(text)))),
  ).toEqual(new Set(['192.0.2.1']))
})
