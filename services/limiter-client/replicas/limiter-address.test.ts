import { expect, test } from 'vitest'
import { parseLimiterAddress } from './limiter-address.ts'

test.each([
  ['127.0.0.1:50051', { kind: 'one', endpoint: { host: '127.0.0.1', port: 50051 }, serverName: '127.0.0.1' }],
  ['[::1]:50051', { kind: 'one', endpoint: { host: '::1', port: 50051 }, serverName: '::1' }],
  ['limiter:1', { kind: 'one', endpoint: { host: 'limiter', port: 1 }, serverName: 'limiter' }],
  ['dns:///limiter.weir.svc:50051', { kind: 'name', name: 'limiter.weir.svc', port: 50051 }],
  ['unix:/run/weir.sock', { kind: 'one', endpoint: { path: '/run/weir.sock' }, serverName: 'localhost' }],
])('%s is an address', (text, address) => {
  expect(parseLimiterAddress(text)).toEqual(address)
})

test.each([
  '',
  'limiter',
  'limiter:0',
  'limiter:65536',
  'dns:limiter:1',
  'unix:limiter.sock',
  'http://limiter:1',
  '::1:50051',
])('%s is none', (text) => {
  expect(parseLimiterAddress(text)).toBeUndefined()
})
