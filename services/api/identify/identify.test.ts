import { describe, expect, test } from 'vitest'
import { createApiKey, hashApiKey } from './api-key.ts'
import type { ApiKeys, KeyRecord } from './api-keys.ts'
import { createIdentify } from './identify.ts'

const makeKey = (owner: string | undefined) => {
  const { keyId, key } = createApiKey()
  const record: KeyRecord = { keyId, hash: hashApiKey(key), owner, plan: 'pro', permissions: new Set(['orders:read']) }
  return { key, record }
}

const first = makeKey('acme')
const second = makeKey('acme')
const ownerless = makeKey(undefined)
const keys: ApiKeys = new Map([first, second, ownerless].map(({ record }) => [record.keyId, record]))
const identify = createIdentify({ trustedProxies: [], keys: () => keys })

const claims = (...authorizationLines: readonly string[]) => ({
  peer: '198.51.100.7',
  forwardedFor: undefined,
  authorizationLines,
})

describe('a caller', () => {
  test('without a credential is anonymous and charged to its address', () => {
    expect(identify(claims())).toEqual({
      caller: { kind: 'anonymous' },
      client: 'ip:198.51.100.7',
      credentialProblem: undefined,
    })
  })

  test('with a key has what the key carries', () => {
    expect(identify(claims(`Bearer ${first.key}`))).toEqual({
      caller: {
        kind: 'key',
        keyId: first.record.keyId,
        owner: 'acme',
        plan: 'pro',
        permissions: new Set(['orders:read']),
      },
      client: 'user:acme',
      credentialProblem: undefined,
    })
  })

  test('two keys of one owner share one allowance', () => {
    expect(identify(claims(`Bearer ${second.key}`)).client).toBe(identify(claims(`Bearer ${first.key}`)).client)
  })

  test('a key without owner has an allowance of its own', () => {
    expect(identify(claims(`Bearer ${ownerless.key}`)).client).toBe(`key:${ownerless.record.keyId}`)
  })

  test.each([
    ['the id of one key and the secret of another', `${first.key.slice(0, 18)}${second.key.slice(18)}`],
    ['a key that nobody made', createApiKey().key],
    ['a right key and more', `${first.key}0`],
    ['a right key in capitals', first.key.toUpperCase()],
    ['the hash of a key', Buffer.from(first.record.hash).toString('hex')],
  ])('%s is nobody, told so, and charged to its address', (_claim, token) => {
    const identity = identify(claims(`Bearer ${token}`))
    expect(identity.caller).toEqual({ kind: 'anonymous' })
    expect(identity.client).toBe('ip:198.51.100.7')
    expect(identity.credentialProblem).toBe('The API key is not known.')
  })
})

test('a key that was taken out of the file is not known any more', () => {
  let inForce = keys
  const identifyNow = createIdentify({ trustedProxies: [], keys: () => inForce })
  expect(identifyNow(claims(`Bearer ${first.key}`)).client).toBe('user:acme')
  inForce = new Map()
  expect(identifyNow(claims(`Bearer ${first.key}`)).credentialProblem).toBeDefined()
})
