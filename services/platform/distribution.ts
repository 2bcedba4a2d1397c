/** How values spread over buckets: what a histogram shows. Recording one allocates nothing and touches no library. */
export type Distribution = {
  readonly record: (value: number) => void
  readonly read: () => DistributionReading
}

export type DistributionReading = {
  /** How many values lie in each bucket, the last one without an upper bound. */
  readonly counts: readonly number[]
  readonly sum: number
}

/** Of durations, in seconds: from what memory answers in to what nobody waits for. */
export const durationBoundsS: readonly number[] = [
  0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1,
]

/** `bounds`: the inclusive upper bound of each bucket but the last, rising. */
export const createDistribution = (bounds: readonly number[]): Distribution => {
  const upper = Float64Array.from([...bounds, Number.POSITIVE_INFINITY])
  const counts = new Float64Array(upper.length)
  let sum = 0
  return {
    record: (value) => {
      let index = 0
      while (value > (upper[index] ?? value)) index += 1
      counts[index] = (counts[index] ?? 0) + 1
      sum += value
    },
    read: () => ({ counts: [...counts], sum }),
  }
}
