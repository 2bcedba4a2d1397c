export type VirtualTime = {
  readonly nowUs: () => number
  /** The returned function calls it off. */
  readonly afterUs: (us: number, callback: () => void) => () => void
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

  return {
    nowUs: () => nowUs,
    afterUs: (us, callback) => {
      turns += 1
      const event: Event = { atUs: nowUs + Math.max(0, Math.round(us)), turn: turns, callback }
      push(event)
      return () => {
        event.callback = undefined
      }
    },
    runUntil: (endUs) =>
      new Promise((resolve, reject) => {
        const runNext = () => {
          let [next] = heap
          for (; next !== undefined && next.callback === undefined; [next] = heap) pop()
          if (next === undefined || next.atUs > endUs) {
            nowUs = Math.max(nowUs, endUs)
            return resolve()
          }
          pop()
          nowUs = next.atUs
          try {
            next.callback?.()
          } catch (error) {
            return reject(error)
          }
          // A tick that a microtask asks for comes when all promises have run their course, and long before a macrotask would.
          queueMicrotask(() => process.nextTick(runNext))
        }
        process.nextTick(runNext)
      }),
  }
}
