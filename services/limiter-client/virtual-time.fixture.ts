import type { MonotonicClock } from '../seams/clock.ts'
import type { Timers } from '../seams/timers.ts'

type Due = { readonly atUs: number; readonly run: () => void }

/** Time that passes when a test says so, and an event loop that can be made to stand still. */
export const createVirtualTime = () => {
  let nowUs = 0
  const timeouts = new Set<Due>()
  let arrivals: (() => void)[] = []
  let afterPolls: (() => void)[] = []

  const monotonicClock: MonotonicClock = { monotonicUs: () => nowUs }
  const timers: Timers = {
    after: (delayMs, callback) => {
      const due = { atUs: nowUs + delayMs * 1000, run: callback }
      timeouts.add(due)
      return () => void timeouts.delete(due)
    },
    afterPoll: (callback) => void afterPolls.push(callback),
  }

  /** One turn of the event loop: the timers that are due, then what has arrived, then what waits for the poll. */
  const turn = async () => {
    const due = [...timeouts].filter(({ atUs }) => atUs <= nowUs).sort((a, b) => a.atUs - b.atUs)
    for (const one of due) {
      if (!timeouts.delete(one)) continue
      one.run()
      await settled()
    }
    for (const queue of [take('arrivals'), take('afterPolls')]) {
      for (const run of queue) run()
      await settled()
    }
    return due.length > 0 || arrivals.length > 0 || afterPolls.length > 0
  }

  const take = (name: 'arrivals' | 'afterPolls') => {
    const taken = name === 'arrivals' ? arrivals : afterPolls
    if (name === 'arrivals') arrivals = []
    else afterPolls = []
    return taken
  }

  return {
    monotonicClock,
    timers,
    nowMs: () => nowUs / 1000,
    /** Timers that are still set. */
    pendingTimers: () => timeouts.size,
    /** Lets time pass with a loop that keeps up. */
    pass: async (ms: number) => {
      const endUs = nowUs + ms * 1000
      await settled()
      while (await turn());
      for (;;) {
        const next = Math.min(endUs, ...[...timeouts].map(({ atUs }) => atUs))
        nowUs = Math.max(nowUs, next)
        while (await turn());
        if (next >= endUs) return
      }
    },
    /** Time passes while the loop stands still: what falls due meanwhile is late. */
    block: (ms: number) => {
      nowUs += ms * 1000
    },
    /** Happens in the next poll phase, as a packet that lies in the socket's buffer. */
    arrive: (run: () => void) => void arrivals.push(run),
  }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))
