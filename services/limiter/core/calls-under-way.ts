/** Counts what is under way at once: beyond the bound nothing queues, it is turned away. */
export type CallsUnderWay = {
  /** Whether there is room for one more; if so, it is counted until `leave`. */
  readonly enter: () => boolean
  readonly leave: () => void
}

export const createCallsUnderWay = (max: number): CallsUnderWay => {
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
