/** Why it waits no longer: it took too long, or there was no room for so much. */
export type Reason = 'late' | 'no_room'

/** Something that waits for its caller: for the rest of a request, or until an answer has been taken. */
export type Waiter = {
  /** Memory that it takes beside what each takes. */
  heldBytes: number
  sinceMs: number
  /** Called when it waits no longer; it may begin anew. */
  readonly giveUp: (reason: Reason) => void
}

/** All that waits for callers: for how long, how many, and with how much memory. */
export type Waiting = Disposable & {
  /** Begins, if there is room, or if the one that has waited longest is to make room. */
  readonly enter: (waiter: Waiter) => boolean
  /** Begins in any case: it takes the place of something that had one. */
  readonly stay: (waiter: Waiter) => void
  /** Notes how much memory it takes now; where that is too much, those that have waited longest make room, it too. */
  readonly hold: (waiter: Waiter, bytes: number) => void
  readonly end: (waiter: Waiter) => void
}

export type WaitingLimits = {
  /** Who waits longer is given up. */
  readonly patienceMs: number
  readonly maxWaiters: number
  /** Of all of them together. */
  readonly maxHeldBytes: number
}

/**
 * Whoever means well is in here for a moment. So where there are too many it is the oldest that makes room for the next, unless even that
 * one has just come: then nobody is slow, there is only more than can be served.
 */
const MOMENT_MS = 250

export const createWaiting = ({ patienceMs, maxWaiters, maxHeldBytes }: WaitingLimits): Waiting => {
  let heldBytes = 0
  // In the order in which they began.
  const waiters = createQueue()

  const forget = (waiter: Waiter) => {
    heldBytes -= waiter.heldBytes
    waiter.heldBytes = 0
  }
  const giveUp = (waiter: Waiter, reason: Reason) => {
    waiters.delete(waiter)
    forget(waiter)
    waiter.giveUp(reason)
  }
  /** The oldest, if it has waited longer than that. */
  const oldest = (olderThanMs: number) => {
    const first = waiters.first()
    return first !== undefined && performance.now() - first.sinceMs > olderThanMs ? first : undefined
  }
  const giveUpLate = () => {
    for (let late = oldest(patienceMs); late !== undefined; late = oldest(patienceMs)) giveUp(late, 'late')
  }
  const timer = setInterval(giveUpLate, patienceMs / 5).unref()

  const stay = (waiter: Waiter) => {
    waiter.sinceMs = performance.now()
    waiters.add(waiter)
  }
  return {
    enter: (waiter) => {
      if (waiters.size() >= maxWaiters) {
        const slow = oldest(MOMENT_MS)
        if (slow === undefined) return false
        giveUp(slow, 'no_room')
      }
      stay(waiter)
      return true
    },
    stay,
    hold: (waiter, bytes) => {
      heldBytes += bytes - waiter.heldBytes
      waiter.heldBytes = bytes
      for (let first = waiters.first(); heldBytes > maxHeldBytes && first !== undefined; first = waiters.first())
        giveUp(first, 'no_room')
    },
    end: (waiter) => {
      waiters.delete(waiter)
      forget(waiter)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

const createQueue = () => {
  const waiters = new Set<Waiter>()
  // Kept: each new one would pass again over the places of all that were first before.
  let inOrder = waiters.values()
  let first: Waiter | undefined
  return {
    size: () => waiters.size,
    add: (waiter: Waiter) => void waiters.add(waiter),
    delete: (waiter: Waiter) => {
      if (waiter === first) first = undefined
      waiters.delete(waiter)
    },
    first: (): Waiter | undefined => {
      if (first !== undefined) return first
      let next = inOrder.next()
      if (next.done) {
        inOrder = waiters.values()
        next = inOrder.next()
      }
      first = next.value
      return first
    },
  }
}
