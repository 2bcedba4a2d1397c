import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CursorList, type CursorSecrets, createCursorSigner } from './cursor.ts'
import { parseCursorSecrets, randomCursorSecrets } from './cursor-secrets.ts'

const signerOf = (...secrets: CursorSecrets) => createCursorSigner(() => secrets)
const signer = signerOf('first secret')
const list = fc.array(fc.oneof(fc.string(), fc.integer(), fc.constant(undefined)), { maxLength: 4 })
const position = fc.array(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 3 })

test('a cursor gives its position back to the list that it was signed for, and to no other', () => {
  fc.assert(
    fc.property(list, position, list, (own, at, other) => {
      const cursor = signer.sign(own, at)
      expect(cursor).toMatch(/^[A-Za-z0-9_-]+$/)
      expect(signer.verify(own, cursor)).toEqual(at)
      if (JSON.stringify(own) !== JSON.stringify(other)) expect(signer.verify(other, cursor)).toBeUndefined()
    }),
  )
})

test('a filter that is absent is not the same as one that is empty', () => {
  const cursor = signer.sign(['orders', undefined], ['1'])
  expect(signer.verify(['orders', ''], cursor)).toBeUndefined()
  expect(signer.verify(['orders'], cursor)).toBeUndefined()
})

test('no other text is taken for a cursor, not even one that differs in its last character', () => {
  const own: CursorList = ['orders', 'user:a']
  const cursor = signer.sign(own, ['1763667571123', 'ord_1'])
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  for (let index = 0; index < cursor.length; index++)
    for (const character of alphabet) {
      const forged = cursor.slice(0, index) + character + cursor.slice(index + 1)
      if (forged !== cursor) expect(signer.verify(own, forged)).toBeUndefined()
    }
  for (const forged of ['', 'a', `${cursor}=`, `${cursor}A`, ` ${cursor}`, cursor.slice(0, 22), 'é'.repeat(50)])
    expect(signer.verify(own, forged)).toBeUndefined()
})

test('a rotation in two steps leaves every cursor valid on every replica', () => {
  const before = signerOf('old')
  const added = signerOf('old', 'new')
  const rotated = signerOf('new', 'old')
  const replicas = { duringFirst: [before, added], duringSecond: [added, rotated] }
  for (const step of Object.values(replicas))
    for (const signing of step)
      for (const verifying of step) expect(verifying.verify(['x'], signing.sign(['x'], ['1']))).toEqual(['1'])
  expect(signerOf('new').verify(['x'], before.sign(['x'], ['1']))).toBeUndefined()
})

describe('a file of secrets', () => {
  test.each([
    ['0123456789abcdef\n', ['0123456789abcdef']],
    ['\r\n 0123456789abcdef \r\n\r\nfedcba9876543210', ['0123456789abcdef', 'fedcba9876543210']],
  ])('%j holds %j', (text, secrets) => {
    expect(parseCursorSecrets(text)).toEqual({ ok: true, secrets })
  })

  test.each([
    ['', 'no secret'],
    ['\n \n', 'no secret'],
    ['0123456789abcdef\nshort', 'secret 2'],
  ])('%j is refused: %s', (text, fault) => {
    expect(parseCursorSecrets(text)).toEqual({ ok: false, fault: expect.stringContaining(fault) })
  })

  test('is not needed by a process that is alone', () => {
    expect(parseCursorSecrets(randomCursorSecrets()[0]).ok).toBe(true)
    expect(randomCursorSecrets()).not.toEqual(randomCursorSecrets())
  })
})
