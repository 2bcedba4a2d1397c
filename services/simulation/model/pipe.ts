import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

const SLOW_US = 100_000

/** The way that it goes over. */
export type Way = {
  readonly isBlocked: () => boolean
  readonly isSlow: () => boolean
  /** To be called when it is free again. */
  readonly whenFree: (goOn: () => void) => void
}

/** One direction of a connection: nothing overtakes, and what cannot pass waits, as TCP has it. */
export const createPipe = (time: VirtualTime, random: Random, { isBlocked, isSlow, whenFree }: Way) => {
  let lastUs = 0
  let waiting: (() => void)[] = []
  const pass = (deliver: () => void) => {
    const travelUs = random.whole(50, 1_000) + (isSlow() ? random.whole(0, SLOW_US) : 0)
    lastUs = Math.max(lastUs, time.nowUs() + travelUs)
    time.afterUs(lastUs - time.nowUs(), () => push(deliver, true))
  }
  const goOn = () => {
    const all = waiting
    waiting = []
    for (const one of all) push(one)
  }
  const push = (deliver: () => void, isThere = false) => {
    if (waiting.length > 0 || isBlocked()) {
      if (waiting.length === 0) whenFree(goOn)
      waiting.push(deliver)
    } else if (isThere) deliver()
    else pass(deliver)
  }
  return (deliver: () => void) => push(deliver)
}
