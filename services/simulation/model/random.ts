export type Random = {
  /** From 0 (included) to 1 (excluded). */
  readonly next: () => number
  readonly whole: (from: number, to: number) => number
  readonly chance: (part: number) => boolean
  readonly pick: <T>(items: readonly [T, ...T[]]) => T
}

/** The same numbers for the same seed, on every machine: mulberry32 by Tommy Ettinger, public domain. */
export const createRandom = (seed: number): Random => {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const whole = (from: number, to: number) => from + Math.floor(next() * (to - from + 1))
  return {
    next,
    whole,
    chance: (part) => next() < part,
    pick: (items) => items[whole(0, items.length - 1)] ?? items[0],
  }
}
