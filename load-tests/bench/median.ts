/** The middle one, or the mean of the two in the middle; 0 of none. */
export const median = (values: readonly number[]) => {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  const [low = 0, high = 0] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]]
  return (low + high) / 2
}

/** The smallest value that so much of all is not above; 0 of none. */
export const percentile = (sorted: ArrayLike<number>, part: number) =>
  sorted[Math.max(0, Math.ceil(sorted.length * part) - 1)] ?? 0
