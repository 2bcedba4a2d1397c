import { expect, test } from 'vitest'
import { createMemoryStore } from '../core/memory-store.ts'
import type { BucketStore } from '../core/store.ts'
import { type CanaryRound, startCanary } from './canary.ts'

const ROUND_MS = 60_000

/** Time that moves from one timer to the next, with a store and a ledger that all canaries share. */
const open = (store: (nowUs: () => number) => Pick<BucketStore, 'take'>) => {
  let nowMs = 1_700_000_000_000
  const timers: { readonly atMs: number; readonly callback: () => void }[] = []
  const sums = new Map<string, number>()
  const rounds: CanaryRound[] = []
  const shared = store(() => nowMs * 1000)
  const start = () =>
    startCanary({
      store: shared,
      addToLedger: async (round, tokens) => {
        sums.set(round, (sums.get(round) ?? 0) + tokens)
        return sums.get(round)
      },
      clock: { nowUs: () => nowMs * 1000 },
      timers: {
        after: (delayMs, callback) => {
          timers.push({ atMs: nowMs + delayMs, callback })
          return () => {}
        },
        afterPoll: setImmediate,
      },
      observe: (round) => rounds.push(round),
      roundMs: ROUND_MS,
    })
  /** Plays the next round with all canaries to its end. */
  const playRound = async (canaries: number) => {
    const due = timers.splice(0)
    nowMs = Math.max(...due.map(({ atMs }) => atMs))
    for (const { callback } of due) callback()
    const before = rounds.length
    for (let turn = 0; rounds.length < before + canaries && turn < 10_000; turn += 1)
      await new Promise((resolve) => setImmediate(resolve))
    return rounds.slice(before)
  }
  return { start, playRound, sums }
}

test('each minute the canaries of all limiters drain one bucket together, and none is overdrawn', async () => {
  const { start, playRound } = open((nowUs) => createMemoryStore({ nowUs }))
  using _first = start()
  using _second = start()
  for (let round = 0; round < 3; round += 1) {
    const played = await playRound(2)
    expect(played.reduce((sum, { grantedTokens }) => sum + grantedTokens, 0)).toBe(500)
    expect(played.every(({ overdrawn }) => !overdrawn)).toBe(true)
  }
})

test('a store that gives each limiter a bucket of its own is found out in one round', async () => {
  const { start, playRound } = open((nowUs) => {
    const [first, second] = [createMemoryStore({ nowUs }), createMemoryStore({ nowUs })]
    let taken = 0
    return { take: (take) => (taken++ % 2 === 0 ? first : second).take(take) }
  })
  using _first = start()
  using _second = start()
  expect((await playRound(2)).some(({ overdrawn }) => overdrawn)).toBe(true)
})

test('what is counted elsewhere while the store is away is no word of the store’s', async () => {
  const { start, playRound, sums } = open((nowUs) => {
    const local = createMemoryStore({ nowUs })
    return {
      take: async (take) => {
        const outcome = await local.take(take)
        return outcome.kind === 'counted' ? { ...outcome, basis: 'share' } : outcome
      },
    }
  })
  using _canary = start()
  expect(await playRound(1)).toEqual([{ grantedTokens: 0, overdrawn: false }])
  expect([...sums.values()]).toEqual([0])
})
