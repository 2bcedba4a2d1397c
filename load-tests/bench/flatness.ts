const WARM_UP_PART = 0.4
const TOLERANCE = 0.1

/** How far the samples after the warm-up are from the middle of their range, as a part of it. */
export const flatness = (samples: readonly number[]) => {
  const values = samples.slice(Math.ceil(samples.length * WARM_UP_PART))
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const middle = (low + high) / 2
  const deviation = (high - middle) / middle
  return { low, high, deviation, isFlat: deviation <= TOLERANCE }
}
