import { expect, test } from 'vitest'
import { domainName } from '../contract/check.ts'
import { createCheckCache } from './check-cache.ts'
import { decodeCheckFrame, encodeCheckFrames } from './check-frame.ts'

const check = (client: string) => ({ domain: domainName('api'), attributes: new Map([['client', client]]), cost: 1 })
const parsed = (client: string) => ({ ok: true, check: check(client) }) as const

test('what is used stays, what is not goes; at most twice as many are held', () => {
  const cache = createCheckCache(2)
  cache.set('a', parsed('a'))
  cache.set('b', parsed('b'))
  cache.set('c', parsed('c'))
  expect(cache.get('a')).toEqual(parsed('a'))
  cache.set('d', parsed('d'))
  expect(cache.get('b')).toBeUndefined()
  expect(cache.get('a')).toEqual(parsed('a'))
  expect(cache.get('d')).toEqual(parsed('d'))
})

test('a check that comes again is the one that came before; another cost, or an id, makes it another', () => {
  const decode = (change: object) => {
    const frame = decodeCheckFrame(
      encodeCheckFrames(0, [{ ...check('again'), ...change }]).frames[0] ?? Buffer.alloc(0),
    )
    const one = frame.ok ? frame.checks[0] : undefined
    return one?.ok ? one.check : expect.fail()
  }
  expect(decode({})).toBe(decode({}))
  expect(decode({ cost: 2 })).toMatchObject({ cost: 2 })
  const retried = { requestId: 'r1' }
  expect(decode(retried)).toMatchObject(retried)
  expect(decode(retried)).not.toBe(decode(retried))
})
