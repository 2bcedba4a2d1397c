import type { Timers } from '../../seams/timers.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** Clocks of machines that are well differ by less than this part of the time that they count. */
const DRIFT = 0.0002

/** One process of limiter or API: what it sees of the time, and whether it runs. */
export type ProcessModel = {
  /** Begins anywhere and goes a little wrong, as every machine's does. */
  readonly monotonicUs: () => number
  readonly timers: Timers
  /** Something arrives at one of its sockets. */
  readonly receive: (callback: () => void) => void
  /** It stands still: what falls due and what arrives is handled when it goes on. */
  readonly stop: () => void
  readonly goOn: () => void
  readonly kill: () => void
  readonly isAlive: () => boolean
  /** For how long it has stood still in all. */
  readonly stoodStillUs: () => number
}

export const createProcessModel = (time: VirtualTime, random: Random): ProcessModel => {
  const startUs = time.nowUs()
  const originUs = random.whole(0, 1_000_000_000)
  const rate = 1 + (random.next() * 2 - 1) * DRIFT
  let state: 'running' | 'stopped' | 'dead' = 'running'
  let dueTimers: (() => void)[] = []
  let arrivals: (() => void)[] = []
  let stoppedAtUs = 0
  let stoodStillUs = 0

  const runTimer = (callback: () => void) => {
    if (state === 'running') callback()
    else if (state === 'stopped') dueTimers.push(callback)
  }
  const receive = (callback: () => void) => {
    if (state === 'running') callback()
    else if (state === 'stopped') arrivals.push(callback)
  }

  return {
    monotonicUs: () => originUs + Math.floor((time.nowUs() - startUs) * rate),
    timers: {
      after: (delayMs, callback) => {
        let isOff = false
        // A timer is never early by its own process' clock.
        const cancel = time.afterUs(Math.ceil((delayMs * 1000 + 1) / rate), () =>
          runTimer(() => {
            if (!isOff) callback()
          }),
        )
        return () => {
          isOff = true
          cancel()
        }
      },
      afterPoll: (callback) => void time.afterUs(0, () => runTimer(callback)),
    },
    receive,
    stop: () => {
      if (state !== 'running') return
      state = 'stopped'
      stoppedAtUs = time.nowUs()
    },
    goOn: () => {
      if (state !== 'stopped') return
      state = 'running'
      stoodStillUs += time.nowUs() - stoppedAtUs
      // As the event loop does it: first the timers that are due, then what has arrived.
      for (const callback of dueTimers) time.afterUs(0, () => runTimer(callback))
      for (const callback of arrivals) time.afterUs(0, () => receive(callback))
      dueTimers = []
      arrivals = []
    },
    kill: () => {
      state = 'dead'
      dueTimers = []
      arrivals = []
    },
    isAlive: () => state !== 'dead',
    stoodStillUs: () => stoodStillUs + (state === 'stopped' ? time.nowUs() - stoppedAtUs : 0),
  }
}
