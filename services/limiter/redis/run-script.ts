import type { RedisConnection } from './connect.ts'
import type { RunScript } from './lane-queue.ts'
import { hasNotRun } from './not-run.ts'
import { type Patience, retryNotRun } from './retry-not-run.ts'
import {
  decodeReply,
  encodeCall,
  encodeHead,
  type ScriptOperation,
  type ScriptReply,
  type StateFormat,
  takeScript,
  takeScriptSha1,
} from './take-script.ts'

type Options = Patience & {
  readonly connection: RedisConnection
  readonly stateFormat: StateFormat
  /** The time that the script goes by; absent but in tests: the server's own. */
  readonly nowUs?: () => number
}

/** Runs `take.lua` where the keys are. A call whose fate nobody knows is never sent again. */
export const createRunScript = ({ connection, stateFormat, nowUs, ...patience }: Options): RunScript => {
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
  return retryNotRun({ execute, ...patience })
}
