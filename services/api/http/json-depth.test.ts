import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nestsDeeperThan } from './json-depth.ts'

const deeperThan = (depth: number, text: string) => nestsDeeperThan(depth, Buffer.from(text))

const depthOf = (value: unknown): number =>
  typeof value === 'object' && value !== null ? 1 + Math.max(0, ...Object.values(value).map(depthOf)) : 0

describe('how deep a JSON text nests', () => {
  test('is the depth of its value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), fc.nat({ max: 7 }), (value, depth) => {
        expect(deeperThan(depth, JSON.stringify(value))).toBe(depthOf(value) > depth)
      }),
    )
  })

  test.each([
    ['brackets within a text', '["[[[[{{{{"]', 1],
    ['a quotation mark within a text', '["\\"[[[["]', 1],
    ['a backslash at the end of a text', '["\\\\",[[]]]', 3],
    ['what is no JSON', ']]][[[', 0],
    ['a text without an end', '[[["[[[[[[', 3],
    ['nothing', '', 0],
  ])('%s', (_, text, depth) => {
    expect(deeperThan(depth, text)).toBe(false)
    if (depth > 0) expect(deeperThan(depth - 1, text)).toBe(true)
  })
})
