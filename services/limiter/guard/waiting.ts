/** Why it waits no longer: it took too long, or there was no room for so much. */
export type Reason = 'late' | 'no_room'

/** Something that waits for its caller: for the rest of a request, or until an answer has been taken. */
export type Waiter = {
  /** Memory that it takes beside what each takes. */
  heldBytes: number
  sinceMs: number
  place: 'none' | 'call' | 'lingering'
  /** Called when it waits no longer; it may stay on. */
  readonly giveUp: (reason: Reason) => void
}

export const waiterOf = (giveUp: Waiter['giveUp']): Waiter => ({ heldBytes: 0, sinceMs: 0, place: 'none', giveUp })

/** All that waits for callers: for how long, how many, and with how much memory. */
export type Waiting = Disposable & {
  /** A call takes a place and waits, if there is one, or if the one that has waited longest is to make room. */
  readonly enter: (waiter: Waiter) => boolean
  /** What is over but for the caller's taking it waits on, if there is room. */
  readonly linger: (waiter: Waiter) => boolean
  /** Waits without a place: something else bounds how many there are. */
  readonly stay: (waiter: Waiter) => void
  /** Keeps its place, but it is not its caller that it waits for. */
  readonly rest: (waiter: Waiter) => void
  /** Notes how much memory it takes now; where that is too much, those that have waited longest make room, it too. */
  readonly hold: (waiter: Waiter, bytes: number) => void
  readonly end: (waiter: Waiter) => void
}

export type WaitingLimits = {
  /** Who waits longer is given up. */
  readonly patienceMs: number
  readonly maxCalls: number
  readonly maxLingering: number
  /** Of all of them together. */
  readonly maxHeldBytes: number
}

/**
 * Whoever means well is in here for a moment. So where there are too many it is the oldest that makes room for the next, unless even that
 * one has just come: then nobody is slow, there is only more than can be served.
 */
const MOMENT_MS = 250

export const createWaiting = ({ patienceMs, maxCalls, maxLingering, maxHeldBytes }: WaitingLimits): Waiting => {
  let heldBytes = 0
  const taken = { none: 0, call: 0, lingering: 0 }
  // In the order in which they began.
  const waiters = createQueue()

  const take = (waiter: Waiter, place: Waiter['place']) => {
    taken[waiter.place] -= 1
    taken[place] += 1
    waiter.place = place
  }
  const rest = (waiter: Waiter) => {
    waiters.delete(waiter)
    heldBytes -= waiter.heldBytes
    waiter.heldBytes = 0
  }
  const giveUp = (waiter: Waiter, reason: Reason) => {
    rest(waiter)
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
      if (taken.call >= maxCalls) {
        const slow = oldest(MOMENT_MS)
        if (slow === undefined) return false
        if (slow.place === 'call') take(slow, 'none')
        giveUp(slow, 'no_room')
        if (taken.call >= maxCalls) return false
      }
      take(waiter, 'call')
      stay(waiter)
      return true
    },
    linger: (waiter) => {
      if (taken.lingering >= maxLingering) return false
      take(waiter, 'lingering')
      stay(waiter)
      return true
    },
    stay,
    rest,
    hold: (waiter, bytes) => {
      heldBytes += bytes - waiter.heldBytes
      waiter.heldBytes = bytes
      for (let first = waiters.first(); heldBytes > maxHeldBytes && first !== undefined; first = waiters.first())
        giveUp(first, 'no_room')
    },
    end: (waiter) => {
      rest(waiter)
      take(waiter, 'none')
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
