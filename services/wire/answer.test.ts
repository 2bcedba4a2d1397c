import fc from 'fast-check'
import { expect, test } from 'vitest'
import { anyAnswer } from '../contract/decision.arbitrary.ts'
import type { Answer } from '../contract/decision.ts'
import { decodeAnswer, encodeAnswer } from './answer.ts'
import { rateLimitService } from './protocol.ts'

const { responseSerialize, responseDeserialize } = rateLimitService.ShouldAllow

const overTheWire = (answer: Answer) => decodeAnswer(responseDeserialize(responseSerialize(encodeAnswer(answer))))

test('every answer survives encode, bytes, decode', () => {
  const seen = new Set<string>()
  fc.assert(
    fc.property(anyAnswer, (answer) => {
      seen.add(`${answer.decision.verdict} ${answer.decision.basis}`)
      // The prototype of a decoded message is none of the answer's business.
      expect(overTheWire(answer)).toStrictEqual(JSON.parse(JSON.stringify(answer)))
    }),
    { numRuns: 5_000 },
  )
  expect(seen.size).toBe(9)
})

test.each([
  ['no verdict', { basis: 'NO_POLICY' }],
  ['no basis', { verdict: 'ALLOW' }],
  ['a basis of a later version', { verdict: 'ALLOW', basis: 99 as never }],
  ['a verdict of a later version', { verdict: 99 as never, basis: 'EXEMPT' }],
  ['a count without a quota', { verdict: 'ALLOW', basis: 'BUCKET', policy: 'per-client' }],
  ['a refusal that no policy is responsible for', { verdict: 'DENY', basis: 'NO_POLICY' }],
  ['a pass that can never be', { verdict: 'ALLOW', basis: 'NEVER_SATISFIABLE', policy: 'per-client' }],
  ['nothing at all', {}],
] as const)('%s is no answer', (_, response) => {
  expect(decodeAnswer(responseDeserialize(responseSerialize(response)))).toBeUndefined()
})

test('a field of a later version is passed over', () => {
  const bytes = responseSerialize(encodeAnswer({ decision: { verdict: 'allow', basis: 'exempt' }, shadows: [] }))
  const withMore = Buffer.concat([bytes, Buffer.from([0x9a, 0x06, 0x02, 0x68, 0x69])])
  expect(decodeAnswer(responseDeserialize(withMore))).toEqual({
    decision: { verdict: 'allow', basis: 'exempt' },
    shadows: [],
  })
})
