/** Why it waits no longer: it took too long, or there was no room for so much. */
export type Reason = 'late' | 'no_room'

/** Something that waits for its caller: for the rest of a request, or until an answer has been taken. */
export type Waiter = {
  /** Memory that it takes beside what each takes. */
  heldBytes: number
  /** Called when it waits no longer; it may begin anew. */
  readonly giveUp: (reason: Reason) => void
}

/** All that waits for callers: for how long, how many, and with how much memory. */
export type Waiting = Disposable & {
  /** Where there are too many, the one that has waited longest makes room. */
  readonly begin: (waiter: Waiter) => void
  /** Notes how much memory it takes now; where that is too much, those that have waited longest make room, it too. */
  readonly hold: (waiter: Waiter, bytes: number) => void
  readonly end: (waiter: Waiter) => void
}

export type WaitingLimits = {
  /** Who waits longer than twice this is given up; some are after this. */
  readonly patienceMs: number
  readonly maxWaiters: number
  /** Of all of them together. */
  readonly maxHeldBytes: number
}

/**
 * Whoever means well is never long in here, so that those who stay make room for those who come: it is the oldest that are given up, not
 * the next one that is turned away.
 */
export const createWaiting = ({ patienceMs, maxWaiters, maxHeldBytes }: WaitingLimits): Waiting => {
  let heldBytes = 0
  // Two generations instead of a clock, which every call would have to read.
  let young = createGeneration()
  let old = createGeneration()

  const forget = (waiter: Waiter) => {
    heldBytes -= waiter.heldBytes
    waiter.heldBytes = 0
  }
  const giveUpOldest = () => {
    const oldest = old.takeFirst() ?? young.takeFirst()
    if (oldest === undefined) return
    forget(oldest)
    oldest.giveUp('no_room')
  }
  const turn = () => {
    const late = old
    old = young
    young = createGeneration()
    for (const waiter of late.waiters) forget(waiter)
    for (const { giveUp } of late.waiters) giveUp('late')
  }
  const timer = setInterval(turn, patienceMs).unref()

  return {
    begin: (waiter) => {
      if (young.waiters.size + old.waiters.size >= maxWaiters) giveUpOldest()
      young.waiters.add(waiter)
    },
    hold: (waiter, bytes) => {
      heldBytes += bytes - waiter.heldBytes
      waiter.heldBytes = bytes
      while (heldBytes > maxHeldBytes) giveUpOldest()
    },
    end: (waiter) => {
      if (!young.waiters.delete(waiter)) old.waiters.delete(waiter)
      forget(waiter)
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}

const createGeneration = () => {
  const waiters = new Set<Waiter>()
  // Kept: each new one would pass again over the places of all that were taken before.
  let inOrder = waiters.values()
  return {
    waiters,
    takeFirst: (): Waiter | undefined => {
      let next = inOrder.next()
      if (next.done) {
        inOrder = waiters.values()
        next = inOrder.next()
      }
      if (next.done) return undefined
      waiters.delete(next.value)
      return next.value
    },
  }
}
