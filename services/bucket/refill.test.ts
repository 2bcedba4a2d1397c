import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseRefill } from './refill.ts'

test.each([
  ['5/s', 5, 1],
  ['100/min', 100, 60],
  ['1000/h', 1000, 3600],
  ['2/d', 2, 86_400],
  ['5 per 10s', 5, 10],
  ['0.2/s', 2, 10],
  ['1.25 per 2min', 125, 12_000],
])('%s is %i tokens every %i s', (text, refillTokens, periodS) => {
  expect(parseRefill(text)).toEqual({ ok: true, refillTokens, periodS })
})

test.each(['', '5', '/s', '5/fortnight', '-5/s', '1e3/s', '5/ s x', '.5/s', '5//s', '99999999999999999/s', '5s'])(
  '%j is refused with an example of what is right',
  (text) => {
    expect(parseRefill(text)).toMatchObject({ ok: false, problem: expect.stringContaining('5/s') })
  },
)

test('decimals are read exactly: never through a binary fraction', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 999_999 }), fc.integer({ min: 0, max: 999 }), (whole, thousandths) => {
      const parsed = parseRefill(`${whole}.${String(thousandths).padStart(3, '0')}/min`)
      expect(parsed).toEqual({ ok: true, refillTokens: whole * 1000 + thousandths, periodS: 60_000 })
    }),
  )
})
