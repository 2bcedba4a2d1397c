import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { entityTag, ifMatch, isKnown, permitsChange } from './etag.ts'

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
])('%s against "3": a change %s, known %s', (header, permits, known) => {
  expect(permitsChange(header, current)).toBe(permits)
  expect(isKnown(header, current)).toBe(known)
})

test.each(['3', '', '"3', '"3" "4"', '"3",', 'w/"3"', '*, "3"', '"\u0000"'])(
  '%j is no list of entity tags',
  (header) => {
    expect(new Ajv().compile(ifMatch)(header)).toBe(false)
  },
)
