import { expect, test } from 'vitest'
import { median, percentile } from './median.ts'

test('the median is the middle one, or between the two in the middle, in whatever order they come', () => {
  expect(median([9, 1, 5])).toBe(5)
  expect(median([10, 1, 2, 9])).toBe(5.5)
  expect(median([100, 9])).toBe(54.5)
  expect(median([7])).toBe(7)
  expect(median([])).toBe(0)
})

test('of 1,000 values the 99th percentile is the 990th, and of few the largest', () => {
  const thousand = Array.from({ length: 1_000 }, (_, index) => index + 1)
  expect(percentile(thousand, 0.5)).toBe(500)
  expect(percentile(thousand, 0.99)).toBe(990)
  expect(percentile(thousand, 0.999)).toBe(999)
  expect(percentile([1, 2, 3], 0.99)).toBe(3)
  expect(percentile([4], 0.5)).toBe(4)
  expect(percentile([], 0.5)).toBe(0)
})
