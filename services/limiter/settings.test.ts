import { expect, test } from 'vitest'
import { readLimiterSettings } from './settings.ts'

const faultsOf = (environment: Readonly<Record<string, string>>) => {
  const read = readLimiterSettings({ LIMITER_POLICIES: 'policies.yaml', ...environment })
  return read.ok ? [] : read.faults
}

test.each([
  ['LIMITER_STORE_TLS_CA', { LIMITER_STORE: 'redis://host', LIMITER_STORE_TLS_CA: 'ca.crt' }],
  ['LIMITER_STORE_TLS_KEY', { LIMITER_STORE: 'redis-sentinel://host/name', LIMITER_STORE_TLS_KEY: 'key' }],
  ['LIMITER_STORE_SENTINEL_USER', { LIMITER_STORE: 'redis-sentinel://host/name', LIMITER_STORE_SENTINEL_USER: 'a:b' }],
  [
    'LIMITER_STORE_SENTINEL_PASSWORD_FILE',
    { LIMITER_STORE: 'redis-sentinel://host/name', LIMITER_STORE_SENTINEL_USER: 'watcher' },
  ],
  [
    'LIMITER_STORE_SENTINEL_PASSWORD_FILE',
    { LIMITER_STORE: 'redis-cluster://host', LIMITER_STORE_SENTINEL_PASSWORD_FILE: 'password' },
  ],
  ['LIMITER_STORE_TLS_KEY', { LIMITER_STORE: 'rediss://host', LIMITER_STORE_TLS_CERT: 'client.crt' }],
  ['LIMITER_STORE_TLS_CERT', { LIMITER_STORE: 'rediss-sentinel://host/name', LIMITER_STORE_TLS_KEY: 'client.key' }],
])('%s that the store would ignore, or that is half a setting, is the fault: %j', (name, environment) => {
  expect(faultsOf(environment)).toEqual([expect.stringMatching(new RegExp(`^${name} `))])
})

test('Sentinels over TLS with a user and a password of their own are no fault', () => {
  expect(
    faultsOf({
      LIMITER_STORE: 'rediss-sentinel://weir@host,other/name',
      LIMITER_STORE_PASSWORD_FILE: 'password',
      LIMITER_STORE_SENTINEL_USER: 'watcher',
      LIMITER_STORE_SENTINEL_PASSWORD_FILE: 'sentinel-password',
      LIMITER_STORE_TLS_CA: 'ca.crt',
    }),
  ).toEqual([])
})
