/** Does something at the end of this turn of the event loop. */
export type AtTurnEnd = (work: () => void) => void

/**
 * Requests that were read from connections in one turn are asked about together, at its end and without a timer: what they ask of the
 * store leaves in one piece. Each alone would be a microtask too early for the next.
 */
export const createTurn = (): AtTurnEnd => {
  let waiting: (() => void)[] = []
  const run = () => {
    const all = waiting
    waiting = []
    for (const work of all) work()
  }
  return (work) => {
    if (waiting.push(work) === 1) setImmediate(run)
  }
}
