/** How long a count is remembered, and how finely. */
const WINDOW_US = 600_000_000
const SLICES = 10
const SLICE_US = WINDOW_US / SLICES

export type HighWater = {
  readonly observe: (count: number) => void
  /** The highest count of the last ten minutes, give or take one; 1 when there was none. */
  readonly highest: () => number
}

/** The highest of what was counted lately: replicas that come and go are not taken for fewer than they may be. */
export const createHighWater = (monotonicUs: () => number): HighWater => {
  let slices: readonly { readonly number: number; readonly count: number }[] = []
  const recent = () => {
    const current = Math.floor(monotonicUs() / SLICE_US)
    return { current, kept: slices.filter(({ number }) => number > current - SLICES) }
  }
  return {
    observe: (count) => {
      const { current, kept } = recent()
      slices = [...kept.filter((slice) => slice.number !== current || slice.count > count), { number: current, count }]
    },
    highest: () => Math.max(1, ...recent().kept.map(({ count }) => count)),
  }
}
