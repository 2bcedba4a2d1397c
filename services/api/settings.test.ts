import { describe, expect, test } from 'vitest'
import { readApiSettings } from './settings.ts'

const faultsOf = (environment: Record<string, string>) => {
  const read = readApiSettings(environment)
  return read.ok ? [] : read.faults
}

test('an empty environment is the published defaults', () => {
  expect(readApiSettings({})).toEqual({
    ok: true,
    settings: {
      API_ADDRESS: { kind: 'tcp', host: '127.0.0.1', port: 8080 },
      API_ADMIN_ADDRESS: { kind: 'tcp', host: '127.0.0.1', port: 9092 },
      API_LIMITER: '127.0.0.1:50051',
      API_LIMITER_DEADLINE_MS: 50,
      API_LIMITER_FALLBACK: 'local',
      API_LIMITER_FALLBACK_CAPACITY: 50,
      API_LIMITER_FALLBACK_REFILL: { refillTokens: 10, periodS: 1 },
      API_LIMITER_TLS_CA: undefined,
      API_LIMITER_TLS_CERT: undefined,
      API_LIMITER_TLS_KEY: undefined,
      API_CONNECTIONS_PER_ADDRESS: 1_024,
      API_TRUSTED_PROXIES: [],
      API_CURSOR_SECRET_FILE: undefined,
      API_KEYS: undefined,
      API_DEMO_ORDERS: undefined,
      DATABASE_URL: 'pglite:memory',
      LOG_LEVEL: 'info',
      fallback: { kind: 'local', rule: { capacityTokens: 50, refillTokens: 10, periodS: 1 } },
      limiterTls: undefined,
    },
  })
})

test('every fault is named at once', () => {
  const names = {
    API_ADDRESS: '8080',
    API_ADMIN_ADDRESS: 'localhost',
    API_LIMITER: 'http://limiter:50051',
    API_LIMITER_DEADLINE_MS: '0',
    API_LIMITER_FALLBACK: 'open',
    API_LIMITER_FALLBACK_CAPACITY: 'many',
    API_LIMITER_FALLBACK_REFILL: '10',
    API_CONNECTIONS_PER_ADDRESS: '0',
    API_TRUSTED_PROXIES: '10.0.0.0/8, proxy',
    API_DEMO_ORDERS: 'some',
    LOG_LEVEL: 'loud',
  }
  const faults = faultsOf(names)
  expect(faults).toHaveLength(Object.keys(names).length)
  for (const name of Object.keys(names)) expect(faults).toContainEqual(expect.stringMatching(`^${name} `))
})

describe('the address of the limiter', () => {
  test.each([
    '127.0.0.1:50051',
    '[::1]:50051',
    'limiter:1',
    'dns:///limiter.weir.svc:50051',
    'unix:/run/weir/limiter.sock',
  ])('%s is one', (API_LIMITER) => {
    expect(faultsOf({ API_LIMITER })).toEqual([])
  })

  test.each(['limiter', 'dns:limiter:50051', 'dns:///limiter', 'unix:limiter.sock', 'https://limiter:50051'])(
    '%s is none',
    (API_LIMITER) => {
      expect(faultsOf({ API_LIMITER })).toHaveLength(1)
    },
  )
})

describe('TLS to the limiter', () => {
  const [ca, cert, key] = [
    { API_LIMITER_TLS_CA: '/ca.pem' },
    { API_LIMITER_TLS_CERT: '/cert.pem' },
    { API_LIMITER_TLS_KEY: '/key.pem' },
  ]

  test.each([ca, { ...ca, ...cert, ...key }])('%j is enough', (environment) => {
    expect(faultsOf(environment)).toEqual([])
  })

  test.each([
    [{ ...cert, ...key }, 'API_LIMITER_TLS_CA'],
    [{ ...ca, ...cert }, 'API_LIMITER_TLS_KEY'],
    [{ ...ca, ...key }, 'API_LIMITER_TLS_CERT'],
  ])('%j lacks %s', (environment, missing) => {
    expect(faultsOf(environment)).toEqual([expect.stringMatching(`^${missing} is not set`)])
  })
})

test('proxies that are everybody are refused, as every client would choose its own address', () => {
  expect(faultsOf({ API_TRUSTED_PROXIES: '0.0.0.0/0' })).toHaveLength(1)
})

test('a refill that takes longer than a month to fill the capacity is refused', () => {
  const faults = faultsOf({ API_LIMITER_FALLBACK_CAPACITY: '1000', API_LIMITER_FALLBACK_REFILL: '1/d' })
  expect(faults).toEqual([expect.stringMatching(/^API_LIMITER_FALLBACK_REFILL .*30 days/)])
})
