import type { Timers } from '../../seams/timers.ts'
import type { RedisConnection } from './connect.ts'
import type { RunScript } from './lane-queue.ts'
import { fateOf, hasNotRun, type LostFate, MOVING_SLOT, NEWER_FORMAT, PASSING } from './not-run.ts'
import {
  decodeReply,
  encodeCall,
  encodeHead,
  type OperationResult,
  type ScriptOperation,
  type ScriptReply,
  type StateFormat,
  takeScript,
  takeScriptSha1,
} from './take-script.ts'

type Options = {
  readonly connection: RedisConnection
  readonly stateFormat: StateFormat
  /** How long a call that has certainly not run is tried again. */
  readonly retryMs: number
  readonly timers: Timers
  readonly monotonicUs: () => number
  /** The time that the script goes by; absent but in tests: the server's own. */
  readonly nowUs?: () => number
}

const RETRY_DELAY_MS = 10

/** Runs `take.lua` where the keys are. A call whose fate nobody knows is never sent again. */
export const createRunScript = ({
  connection,
  stateFormat,
  retryMs,
  timers,
  monotonicUs,
  nowUs,
}: Options): RunScript => {
  const execute = async (operations: readonly ScriptOperation[]): Promise<ScriptReply> => {
    const { keys, batch } = encodeCall(operations)
    const rest = [String(keys.length), ...keys, encodeHead(stateFormat, nowUs?.()), batch]
    const { reply, over } = await connection.callOver('EVALSHA', takeScriptSha1, ...rest).catch((error: unknown) => {
      // A node that does not know the script yet (new, restarted, flushed) has not run it: EVAL makes it known there.
      if (hasNotRun(error, /^NOSCRIPT/)) return connection.callOver('EVAL', takeScript, ...rest)
      throw error
    })
    if (!Buffer.isBuffer(reply)) throw new Error('take.lua answered with something else than bytes')
    return { ...decodeReply(reply, operations), lineage: over }
  }

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
