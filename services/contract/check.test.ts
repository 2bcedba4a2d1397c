import { expect, test } from 'vitest'
import { parseCheck } from './check.ts'

const parsed = (change: object) =>
  parseCheck({ domain: 'api', attributes: { client: 'a' }, cost: undefined, ...change })

test('an absent cost is 1, an explicit 0 stays 0', () => {
  expect(parsed({})).toMatchObject({ ok: true, check: { cost: 1 } })
  expect(parsed({ cost: 0 })).toMatchObject({ ok: true, check: { cost: 0 } })
})

test('an attribute may be empty, its name may not', () => {
  expect(parsed({ attributes: { client: 'a', tenant: '' } })).toMatchObject({ ok: true })
  expect(parsed({ attributes: { '': 'a' } })).toMatchObject({ ok: false, fault: { field: 'attributes' } })
})

test.each([
  ['ASCII', 'a'.repeat(1024), true],
  ['ASCII, one too long', 'a'.repeat(1025), false],
  ['two bytes each', 'é'.repeat(512), true],
  ['two bytes each, one too long', 'é'.repeat(513), false],
  ['three bytes each, too long', '€'.repeat(342), false],
  ['four bytes each', '💥'.repeat(256), true],
  ['four bytes each, one too long', '💥'.repeat(257), false],
])('a value is limited to 1,024 bytes of UTF-8: %s', (_, client, ok) => {
  expect(parsed({ attributes: { client } }).ok).toBe(ok)
})

test.each([-1, 1.5, Number.NaN, 2 ** 32])('a cost of %d is refused', (cost) => {
  expect(parsed({ cost })).toMatchObject({ ok: false, fault: { field: 'cost' } })
})
