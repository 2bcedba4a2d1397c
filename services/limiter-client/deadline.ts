import type { MonotonicClock } from '../seams/clock.ts'
import type { Timers } from '../seams/timers.ts'

/** A wait is looked after in this many steps: a step that ends late shows that this process stood still meanwhile. */
const STEPS = 5
/** Timers are late by this much without anybody standing still. */
const TIMER_SLACK_US = 2_000

type Options = {
  readonly timers: Timers
  readonly monotonicClock: MonotonicClock
  readonly deadlineMs: number
  /** `lagMs`: for how much of the wait this process itself stood still. */
  readonly onExpiry: (lagMs: number) => void
}

/** Calls back once when the time is over; the returned function calls it off. */
export const startDeadline = ({ timers, monotonicClock, deadlineMs, onExpiry }: Options) => {
  const stepUs = (deadlineMs * 1000) / STEPS
  let nowUs = monotonicClock.monotonicUs()
  const endUs = nowUs + deadlineMs * 1000
  let lagUs = 0

  const step = () => {
    const dueUs = Math.min(nowUs + stepUs, endUs)
    return timers.after(Math.ceil((dueUs - nowUs) / 1000), () => {
      nowUs = monotonicClock.monotonicUs()
      if (nowUs - dueUs > TIMER_SLACK_US) lagUs += nowUs - dueUs
      if (nowUs >= endUs) onExpiry(lagUs / 1000)
      else callOff = step()
    })
  }

  let callOff = step()
  return () => callOff()
}
