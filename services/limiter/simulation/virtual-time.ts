import type { Timers } from '../../seams/timers.ts'

export type VirtualTime = {
  readonly nowUs: () => number
  readonly timers: Timers
  readonly afterUs: (us: number, callback: () => void) => void
  /** Runs everything that is due until then, in the order of time, each with all that it sets off before the next. */
  readonly runUntil: (endUs: number) => Promise<void>
}

type Event = { readonly atUs: number; readonly turn: number; callback: (() => void) | undefined }

/** A clock that moves only from event to event, so that hours pass in milliseconds and the same always happens again. */
export const createVirtualTime = (startUs: number): VirtualTime => {
  let nowUs = startUs
  let turns = 0
  const heap: Event[] = []
  const isBefore = (a: Event, b: Event) => a.atUs < b.atUs || (a.atUs === b.atUs && a.turn < b.turn)

  const push = (event: Event) => {
    let index = heap.length
    heap.push(event)
    while (index > 0) {
      const parent = (index - 1) >> 1
      const above = heap[parent]
      if (above === undefined || !isBefore(event, above)) break
      heap[index] = above
      index = parent
    }
    heap[index] = event
  }

  const pop = () => {
    const [first] = heap
    const last = heap.pop()
    if (last === undefined || first === last) return first
    let index = 0
    for (;;) {
      const left = 2 * index + 1
      const [a, b] = [heap[left], heap[left + 1]]
      const least = a !== undefined && b !== undefined && isBefore(b, a) ? b : a
      if (least === undefined || !isBefore(least, last)) break
      heap[index] = least
      index = least === a ? left : left + 1
    }
    heap[index] = last
    return first
  }

  const schedule = (us: number, callback: () => void) => {
    turns += 1
    const event: Event = { atUs: nowUs + Math.max(0, Math.round(us)), turn: turns, callback }
    push(event)
    return event
  }

  return {
    nowUs: () => nowUs,
    timers: {
      after: (delayMs, callback) => {
        const event = schedule(delayMs * 1000, callback)
        return () => {
          event.callback = undefined
        }
      },
      afterPoll: (callback) => void schedule(0, callback),
    },
    afterUs: (us, callback) => void schedule(us, callback),
    runUntil: async (endUs) => {
      for (;;) {
        const [next] = heap
        if (next === undefined || next.atUs > endUs) break
        pop()
        if (next.callback === undefined) continue
        nowUs = next.atUs
        next.callback()
        // A macrotask comes after all promises have run their course.
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
      nowUs = Math.max(nowUs, endUs)
    },
  }
}
