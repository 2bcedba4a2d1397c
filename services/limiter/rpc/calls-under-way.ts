/** Checks under way at once, however they were asked; a further one is refused at once instead of queueing without a bound. */
const MAX_UNDER_WAY = 10_000

/** Counts the checks that wait for the limiter. */
export type CallsUnderWay = {
  /** Whether there is room for one more; if so, it is counted until `leave`. */
  readonly enter: () => boolean
  readonly leave: () => void
}

export const createCallsUnderWay = (max = MAX_UNDER_WAY): CallsUnderWay => {
  let underWay = 0
  return {
    enter: () => {
      if (underWay >= max) return false
      underWay += 1
      return true
    },
    leave: () => {
      underWay -= 1
    },
  }
}
