import type { Timers } from '../../seams/timers.ts'
import type { RunScript } from './lane-queue.ts'
import { fateOf, hasNotRun, type LostFate, MOVING_SLOT, NEWER_FORMAT, PASSING } from './not-run.ts'
import type { OperationResult, ScriptOperation, ScriptReply } from './take-script.ts'

const RETRY_DELAY_MS = 10

export type Patience = {
  /** How long a call that has certainly not run is tried again. */
  readonly retryMs: number
  readonly timers: Timers
  readonly monotonicUs: () => number
}

/** The same call, which is tried again as long as it has certainly not run, and one key at a time where only that is served. */
export const retryNotRun = ({
  execute,
  retryMs,
  timers,
  monotonicUs,
}: Patience & { readonly execute: RunScript }): RunScript => {
  const attempt: RunScript = async (operations) => {
    try {
      return await execute(operations)
    } catch (error) {
      if (operations.length > 1 && (hasNotRun(error, MOVING_SLOT) || hasNotRun(error, NEWER_FORMAT)))
        return executeByKey(operations, patiently(execute))
      throw error
    }
  }

  const patiently =
    (once: RunScript): RunScript =>
    async (operations) => {
      for (const endUs = monotonicUs() + retryMs * 1000; ; ) {
        try {
          return await once(operations)
        } catch (error) {
          if (!hasNotRun(error, PASSING) || monotonicUs() >= endUs) throw error
        }
        await new Promise<void>((resolve) => timers.after(RETRY_DELAY_MS, resolve))
      }
    }

  return patiently(attempt)
}

/**
 * In a slot that is moving, a script runs with one key where it answers TRYAGAIN with two; and a key that a newer version has written should
 * spoil no other's take. Each call fares for itself.
 */
const executeByKey = async (operations: readonly ScriptOperation[], execute: RunScript): Promise<ScriptReply> => {
  const byKey = [...Map.groupBy(operations.keys(), (index) => operations[index]?.key).values()]
  const calls = await Promise.allSettled(
    byKey.map((indexes) => execute(indexes.flatMap((index) => operations[index] ?? []))),
  )
  const results: (OperationResult | undefined)[] = operations.map(() => undefined)
  const fates: (LostFate | undefined)[] = operations.map(() => undefined)
  let droppedBuckets = 0
  for (const [group, indexes] of byKey.entries()) {
    const call = calls[group]
    if (call?.status === 'rejected') for (const index of indexes) fates[index] = fateOf(call.reason)
    if (call?.status !== 'fulfilled') continue
    droppedBuckets += call.value.droppedBuckets
    const { results: own } = call.value
    for (const [at, index] of indexes.entries()) {
      results[index] = own[at]
      if (at >= own.length) fates[index] = 'not_run'
    }
  }
  return { droppedBuckets, results, fates, lineage: undefined }
}
