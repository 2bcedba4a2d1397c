import { setTimeout as sleep } from 'node:timers/promises'

const LOOK_AGAIN_MS = 500

/** Resolves with the first value that there is; throws after the deadline. A look that throws is a look that saw nothing. */
export const awaitValue = async <T>(
  what: string,
  deadlineMs: number,
  look: () => Promise<T | undefined>,
): Promise<T> => {
  const endMs = performance.now() + deadlineMs
  let lastFault = ''
  for (;;) {
    try {
      const value = await look()
      if (value !== undefined) return value
    } catch (error) {
      lastFault = ` (last: ${error instanceof Error ? error.message : String(error)})`
    }
    if (performance.now() > endMs) throw new Error(`${what}: not within ${deadlineMs / 1000} s${lastFault}`)
    await sleep(LOOK_AGAIN_MS)
  }
}

export const awaitTrue = (what: string, deadlineMs: number, holds: () => Promise<boolean>) =>
  awaitValue(what, deadlineMs, async () => ((await holds()) ? true : undefined))
