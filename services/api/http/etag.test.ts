import { expect, test } from 'vitest'
import { entityTag, isKnown, permitsChange } from './etag.ts'

const current = entityTag(3)

test.each([
  [undefined, true, false],
  ['*', true, true],
  ['"3"', true, true],
  ['W/"3"', false, true],
  ['"2"', false, false],
  ['"2", "3"', true, true],
  ['W/"3" ,"2"', false, true],
  ['"33"', false, false],
  ['"2,"', false, false],
  ['3', false, false],
  ['', false, false],
  ['"3', false, false],
  ['""3""', false, false],
  [' * ', true, true],
])('%s against "3": a change %s, known %s', (header, permits, known) => {
  expect(permitsChange(header, current)).toBe(permits)
  expect(isKnown(header, current)).toBe(known)
})
