import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseTimestamp } from './timestamp.ts'

test.each([
  ['2026-11-20T19:19:31Z', '2026-11-20T19:19:31.000Z', false],
  ['2026-11-20t19:19:31.5z', '2026-11-20T19:19:31.500Z', false],
  ['2026-11-20T19:19:31.123400+01:30', '2026-11-20T17:49:31.123Z', true],
  ['2026-11-20T19:19:31.123000Z', '2026-11-20T19:19:31.123Z', false],
  ['2024-02-29T00:00:00-00:00', '2024-02-29T00:00:00.000Z', false],
  ['0000-01-01T00:00:00Z', '0000-01-01T00:00:00.000Z', false],
  ['9999-12-31T23:59:60Z', '+010000-01-01T00:00:00.000Z', false],
  ['1990-12-31T23:59:60.5Z', '1991-01-01T00:00:00.500Z', false],
])('%s is %s', (text, iso, isFiner) => {
  expect(parseTimestamp(text)).toEqual({ ms: Date.parse(iso), isFiner })
})

test.each([
  '',
  '2026-11-20',
  '2026-11-20T19:19:31',
  '2026-11-20 19:19:31Z',
  '2026-11-20T19:19:31+01',
  '2026-11-20T24:00:00Z',
  '2026-11-20T19:60:00Z',
  '2026-11-20T19:19:61Z',
  '2026-02-29T00:00:00Z',
  '2026-04-31T00:00:00Z',
  '2026-13-01T00:00:00Z',
  '2026-11-20T19:19:31.Z',
  '2026-11-20T19:19:31Z\n',
  '+002026-11-20T19:19:31Z',
])('%j is none', (text) => {
  expect(parseTimestamp(text)).toBeUndefined()
})

test('every instant that JavaScript writes is read back', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('0000-01-01T00:00:00Z'), max: new Date('9999-12-31T23:59:59Z'), noInvalidDate: true }),
      (date) => {
        expect(parseTimestamp(date.toISOString())).toEqual({ ms: date.getTime(), isFiner: false })
      },
    ),
  )
})
