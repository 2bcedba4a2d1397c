import { expect, test } from 'vitest'
import { createSpaceSaving, mergeFrequent } from './space-saving.ts'

const KEYS = 1_000_000
const ADDITIONS = 1_000_000

/** A fixed sequence of numbers from 0 to 1 (mulberry32). */
const numbers = (seed: number) => {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** A rank of Zipf's law with exponent 1 over so many keys, by inverting its distribution: the harmonic numbers grow as the logarithm. */
const zipfRank = (uniform: number) => Math.min(KEYS, Math.floor(Math.exp(uniform * Math.log(KEYS + 1))))

test('of a million keys by Zipf’s law the true top 20 are found, within the stated error', () => {
  const random = numbers(42)
  const sketch = createSpaceSaving(1_000)
  const truth = new Map<string, number>()
  for (let addition = 0; addition < ADDITIONS; addition += 1) {
    const key = `user:${zipfRank(random())}`
    sketch.add(key)
    truth.set(key, (truth.get(key) ?? 0) + 1)
  }
  const trueTop = [...truth].sort((a, b) => b[1] - a[1]).slice(0, 20)
  const found = sketch.read()
  const foundTop = new Set(found.slice(0, 20).map(({ key }) => key))
  expect(trueTop.filter(([key]) => foundTop.has(key)).length / 20).toBeGreaterThanOrEqual(0.9)
  expect(found).toHaveLength(1_000)
  for (const { key, atLeast, atMost } of found) {
    const count = truth.get(key) ?? 0
    expect(atLeast <= count && count <= atMost, `${key}: ${atLeast} ≤ ${count} ≤ ${atMost}`).toBe(true)
    expect(atMost - atLeast).toBeLessThanOrEqual(ADDITIONS / 1_000)
  }
})

test('keys are in the order of their counts at any time', () => {
  const random = numbers(7)
  const sketch = createSpaceSaving(10)
  for (let addition = 0; addition < 5_000; addition += 1) {
    sketch.add(String(Math.floor(random() ** 3 * 40)))
    const counts = sketch.read().map(({ atMost }) => atMost)
    expect(counts).toEqual(counts.toSorted((a, b) => b - a))
  }
  expect(sketch.read().reduce((sum, { atMost }) => sum + atMost, 0)).toBe(5_000)
})

test('several merge into one: what each remembers adds up, what one may have missed is in the range', () => {
  const [small, large] = [createSpaceSaving(2), createSpaceSaving(10)]
  for (const key of ['a', 'a', 'a', 'b', 'c']) small.add(key)
  for (const key of ['a', 'd', 'd', 'd', 'd', 'd', 'd', 'd']) large.add(key)
  expect(mergeFrequent([small, large])).toEqual([
    { key: 'd', atLeast: 7, atMost: 9 },
    { key: 'a', atLeast: 4, atMost: 4 },
    { key: 'c', atLeast: 1, atMost: 2 },
  ])
})
