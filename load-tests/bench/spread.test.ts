import { expect, test } from 'vitest'
import { CLIENTS, createPick, EMPTY_CLIENT, HOT_CLIENT, type Spread } from './spread.ts'

const STEPS = 200_000

/** How often each client asks, of as many numbers as are evenly spread from 0 to 1. */
const count = (spread: Spread) => {
  let step = 0
  const pick = createPick(spread, () => step / STEPS)
  const counts = new Map<string, number>()
  for (; step < STEPS; step += 1) {
    const client = pick()
    counts.set(client, (counts.get(client) ?? 0) + 1)
  }
  return counts
}

test('uniform: all clients ask equally often', () => {
  const counts = count('uniform')
  expect(counts.size).toBe(CLIENTS)
  for (const [client, asked] of counts) expect(Math.abs(asked - STEPS / CLIENTS), client).toBeLessThanOrEqual(1)
})

test('zipf: the k-th client asks in proportion to 1/k, and the last one too', () => {
  const counts = count('zipf')
  expect(counts.size).toBe(CLIENTS)
  const first = counts.get('user:0') ?? 0
  for (const k of [2, 3, 10, 100, 1_000])
    expect(Math.abs((counts.get(`user:${k - 1}`) ?? 0) - first / k), `client ${k}`).toBeLessThanOrEqual(1.5)
})

test('one and the same client where that is asked for', () => {
  expect([...count('one').keys()]).toEqual([HOT_CLIENT])
  expect([...count('empty').keys()]).toEqual([EMPTY_CLIENT])
})
