import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyCheck } from '../contract/check.arbitrary.ts'
import { anyAnswer } from '../contract/decision.arbitrary.ts'
import { decodeAnswer, encodeAnswer } from './answer.ts'
import { encodeCheck } from './check.ts'
import { rateLimitService } from './protocol.ts'
import { decodeRequest, encodeResponse } from './should-allow.ts'

const { requestSerialize, responseSerialize, responseDeserialize } = rateLimitService.ShouldAllow

test('requests of other implementations of protobuf are read as they were meant', () => {
  fc.assert(
    fc.property(anyCheck, (check) => {
      expect(decodeRequest(requestSerialize(encodeCheck(check)))).toEqual({ ok: true, check })
    }),
  )
})

test('other implementations of protobuf read the responses as they were meant', () => {
  fc.assert(
    fc.property(anyAnswer, (answer) => {
      const meant = JSON.parse(JSON.stringify(answer))
      expect(decodeAnswer(responseDeserialize(encodeResponse(answer)))).toEqual(meant)
      expect(decodeAnswer(responseDeserialize(responseSerialize(encodeAnswer(answer))))).toEqual(meant)
    }),
    { numRuns: 1_000 },
  )
})

const DOMAIN = Buffer.from([0x0a, 3, ...Buffer.from('api')])
const CLIENT = Buffer.from([0x12, 11, 0x0a, 6, ...Buffer.from('client'), 0x12, 1, ...Buffer.from('a')])

test.each([
  ['2³², which would be 0 in 32 bits', [0x18, 0x80, 0x80, 0x80, 0x80, 0x10]],
  ['2⁶³', [0x18, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]],
])('a cost of %s is refused', (_, cost) => {
  expect(decodeRequest(Buffer.concat([DOMAIN, CLIENT, Buffer.from(cost)]))).toMatchObject({
    ok: false,
    fault: { kind: 'invalid', field: 'cost' },
  })
})

test('fields of a later version, and known ones that are not written as expected, are passed over', () => {
  const later = Buffer.from([0x78, 7, 0x7d, 1, 2, 3, 4, 0x79, 1, 2, 3, 4, 5, 6, 7, 8, 0x7a, 2, 1, 2, 0x08, 9])
  expect(decodeRequest(Buffer.concat([DOMAIN, later, CLIENT]))).toEqual(decodeRequest(Buffer.concat([DOMAIN, CLIENT])))
})

test('a field that is written again counts as written last', () => {
  const other = Buffer.from([0x12, 11, 0x0a, 6, ...Buffer.from('client'), 0x12, 1, ...Buffer.from('b')])
  const decoded = decodeRequest(Buffer.concat([DOMAIN, CLIENT, Buffer.from([0x18, 1]), other, Buffer.from([0x18, 3])]))
  expect(decoded).toMatchObject({ ok: true, check: { cost: 3, attributes: new Map([['client', 'b']]) } })
})

test.each([
  ['a field that ends beyond the message', [0x0a, 9, 1]],
  ['a number that never ends', [0x18, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1]],
  ['a number that is cut off', [0x18, 0x80]],
  ['a group', [0x0b, 0x0c]],
])('%s is no message', (_, bytes) => {
  expect(decodeRequest(Buffer.from(bytes))).toBeUndefined()
})
