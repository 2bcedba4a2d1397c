export type Timers = {
  /** Runs the callback once, after at least the delay; the returned function calls it off. */
  readonly after: (delayMs: number, callback: () => void) => () => void
  /** Runs the callback after one poll phase: what has already arrived in a socket's buffer is handled before it. */
  readonly afterPoll: (callback: () => void) => void
}

export const systemTimers: Timers = {
  after: (delayMs, callback) => {
    const timer = setTimeout(callback, delayMs)
    return () => clearTimeout(timer)
  },
  afterPoll: (callback) => {
    setImmediate(callback)
  },
}
