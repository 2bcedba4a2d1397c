import { setTimeout as delay } from 'node:timers/promises'

const POLL_MS = 5

/** Waits until the claim holds; fails with what it saw last when that takes too long. */
export const until = async <T>(look: () => T | Promise<T>, holds: (seen: T) => boolean, limitMs = 45_000) => {
  const endMs = performance.now() + limitMs
  for (;;) {
    const seen = await look()
    if (holds(seen)) return seen
    if (performance.now() > endMs) throw new Error(`still ${JSON.stringify(seen)} after ${limitMs} ms`)
    await delay(POLL_MS)
  }
}
