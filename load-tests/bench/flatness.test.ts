import { expect, test } from 'vitest'
import { flatness } from './flatness.ts'

const tenOf = (value: (index: number) => number) => Array.from({ length: 10 }, (_, index) => value(index))

test('what grows before the warm-up is over is no growth', () => {
  expect(flatness(tenOf((index) => (index < 4 ? index * 100 : 400)))).toEqual({
    low: 400,
    high: 400,
    deviation: 0,
    isFlat: true,
  })
})

test('a tenth above the middle is flat, more is not', () => {
  expect(flatness(tenOf((index) => (index === 9 ? 110 : 90)))).toMatchObject({ deviation: 0.1, isFlat: true })
  expect(flatness(tenOf((index) => (index === 4 ? 111 : 90)))).toMatchObject({ isFlat: false })
  expect(flatness(tenOf((index) => 100 + 10 * index)).isFlat).toBe(false)
})
