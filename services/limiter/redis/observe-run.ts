import { createConservationCheck, type Violation } from './conservation.ts'
import type { RunScript } from './lane-queue.ts'
import type { ScriptOperation } from './take-script.ts'

export type StoreObserver = {
  /** One call of the script has ended: how many takes it stood for, and the operations that they were merged into. */
  readonly called: (call: {
    readonly takes: number
    readonly operations: number
    readonly elapsedUs: number
    readonly ok: boolean
    /** Buckets and remembered requests that it left out, because a group had too many. */
    readonly dropped: number
  }) => void
  /** A call was in vain. Called often while the store is away. */
  readonly failed: (error: Error) => void
  /** A reply does not conserve. */
  readonly violated: (violation: Violation) => void
}

export const silentStoreObserver: StoreObserver = { called: () => {}, failed: () => {}, violated: () => {} }

/** Tells of each call; the store itself treats one that failed as an outcome. */
export const observeRun = (run: RunScript, observer: StoreObserver, monotonicUs: () => number): RunScript => {
  const check = createConservationCheck(observer.violated, monotonicUs)
  return async (operations) => {
    const startUs = monotonicUs()
    const ended = (ok: boolean, dropped: number, served: readonly ScriptOperation[]) => {
      const takes = served.reduce((sum, { times }) => sum + times, 0)
      observer.called({ takes, operations: served.length, elapsedUs: monotonicUs() - startUs, ok, dropped })
    }
    try {
      const reply = await run(operations)
      ended(true, reply.droppedBuckets, operations.slice(0, reply.results.length))
      check(operations, reply)
      return reply
    } catch (error) {
      ended(false, 0, operations)
      observer.failed(error instanceof Error ? error : new Error(String(error)))
      throw error
    }
  }
}
