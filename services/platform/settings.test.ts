import { expect, test } from 'vitest'
import { address, formatAddress, tcpAddress } from './address.ts'
import { commaSeparated, notYet, oneOf, optional, path, readSettings, wholeNumber, withDefault } from './settings.ts'

const table = {
  LISTEN: withDefault(commaSeparated(address), []),
  DEADLINE_MS: withDefault(wholeNumber(1, 1000), 50),
  MODE: oneOf('local', 'allow'),
  FILE: path,
  TOKEN: optional(path),
  TLS: notYet,
} as const

test('settings that are right are read, with defaults for the absent and the empty', () => {
  const environment = { MODE: 'local', FILE: '/etc/x', LISTEN: '[::1]:80, unix:/run/weir.sock', DEADLINE_MS: '' }
  expect(readSettings(environment, table)).toEqual({
    ok: true,
    settings: {
      LISTEN: [
        { kind: 'tcp', host: '::1', port: 80 },
        { kind: 'unix', path: '/run/weir.sock' },
      ],
      DEADLINE_MS: 50,
      MODE: 'local',
      FILE: '/etc/x',
      TOKEN: undefined,
      TLS: undefined,
    },
  })
})

test('a password in a URL is not told', () => {
  const read = readSettings({ MODE: 'redis://ada:pa55/w@rd@host:6379', FILE: '/x' }, table)
  expect(read).toMatchObject({ ok: false, faults: [expect.stringContaining('redis://ada:[redacted]@host')] })
})

test('every fault is told at once, each with its name, its value and what would be right', () => {
  const read = readSettings({ MODE: 'lokal', DEADLINE_MS: '0', LISTEN: '127.0.0.1', TLS: 'cert.pem' }, table)
  expect(read).toEqual({
    ok: false,
    faults: [
      'LISTEN is "127.0.0.1": it must be host:port, as in 127.0.0.1:50051, or unix:/path, or several by comma',
      'DEADLINE_MS is "0": it must be a whole number from 1 to 1000',
      'MODE is "lokal": it must be one of local, allow',
      'FILE is not set: set it to a path',
      'TLS is "cert.pem": it must be unset: this version does not support it',
    ],
  })
})

test.each(['127.0.0.1:8080', '[::]:0', 'localhost:65535', 'unix:/run/weir.sock'])(
  '%s is an address, and reads the same when written',
  (text) => {
    const parsed = address.read(text)
    expect(parsed.ok && formatAddress(parsed.value)).toBe(text)
  },
)

test.each([
  '',
  '8080',
  ':8080',
  '127.0.0.1',
  '127.0.0.1:',
  '127.0.0.1:65536',
  '::1:80',
  'a b:1',
  'unix:',
  'unix:relative',
  '1:2:3',
])('%j is no address', (text) => {
  expect(address.read(text).ok).toBe(false)
  expect(tcpAddress.read(text).ok).toBe(false)
})

test.each(['1.5', '-1', '1e2', '0x10', ' 1', '1001', '99999999999999999999'])(
  '%j is no whole number within the bounds',
  (text) => {
    expect(wholeNumber(0, 1000).read(text).ok).toBe(false)
  },
)
