/** Calls `tell` at most once in the interval, with how many calls went by unsaid since the last one. */
export const sampled = <T>(intervalMs: number, tell: (value: T, unsaid: number) => void) => {
  let nextMs = Number.NEGATIVE_INFINITY
  let unsaid = 0
  return (value: T) => {
    const nowMs = performance.now()
    if (nowMs < nextMs) {
      unsaid += 1
      return
    }
    nextMs = nowMs + intervalMs
    tell(value, unsaid)
    unsaid = 0
  }
}
