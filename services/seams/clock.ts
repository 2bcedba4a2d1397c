/** Whole microseconds since the Unix epoch. May step. */
export type WallClock = { readonly nowUs: () => number }

/** Whole microseconds since an arbitrary start. Never goes back. */
export type MonotonicClock = { readonly monotonicUs: () => number }

export const systemWallClock: WallClock = {
  nowUs: () => Date.now() * 1000,
}

// Read once: the global is a getter.
const { performance } = globalThis

export const systemMonotonicClock: MonotonicClock = { monotonicUs: () => Math.floor(performance.now() * 1000) }
