/** A call whose request has not arrived yet. */
export type Arriving = { heldBytes: number; readonly expire: () => void }

/** The calls whose requests have not arrived yet: for how long, and how much memory their parts take. */
export type Arrivals = Disposable & {
  readonly begin: (arriving: Arriving) => void
  /** Notes how much memory it takes now; false if there is no room for that. */
  readonly hold: (arriving: Arriving, bytes: number) => boolean
  /** It has arrived, or never will. */
  readonly end: (arriving: Arriving) => void
}

type Options = {
  /** A request that takes longer than twice this is given up; some are after this. */
  readonly patienceMs: number
  /** Of all of them together. */
  readonly maxHeldBytes: number
}

export const createArrivals = ({ patienceMs, maxHeldBytes }: Options): Arrivals => {
  let heldBytes = 0
  // Two generations instead of a clock, which every call would have to read.
  let young = new Set<Arriving>()
  let old = new Set<Arriving>()

  const turn = () => {
    const late = old
    old = young
    young = new Set()
    for (const { expire } of late) expire()
  }
  const timer = setInterval(turn, patienceMs).unref()

  return {
    begin: (arriving) => void young.add(arriving),
    hold: (arriving, bytes) => {
      const more = bytes - arriving.heldBytes
      if (heldBytes + more > maxHeldBytes) return false
      heldBytes += more
      arriving.heldBytes = bytes
      return true
    },
    end: (arriving) => {
      if (!young.delete(arriving)) old.delete(arriving)
      heldBytes -= arriving.heldBytes
      arriving.heldBytes = 0
    },
    [Symbol.dispose]: () => clearInterval(timer),
  }
}
