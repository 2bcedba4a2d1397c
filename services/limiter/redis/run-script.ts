import type { RedisConnection } from './connect.ts'
import type { RunScript } from './shard-queue.ts'
import {
  decodeReply,
  encodeCall,
  encodeNow,
  type ScriptOperation,
  type ScriptReply,
  takeScript,
  takeScriptSha1,
} from './take-script.ts'

type Options = {
  readonly connection: RedisConnection
  /** The time that the script goes by; absent but in tests: the server's own. */
  readonly nowUs?: () => number
}

/** Runs `take.lua` where the keys are. */
export const createRunScript = ({ connection, nowUs }: Options): RunScript => {
  const execute = async (operations: readonly ScriptOperation[]): Promise<ScriptReply> => {
    const { keys, batch } = encodeCall(operations)
    const rest = [String(keys.length), ...keys, encodeNow(nowUs?.()), batch]
    const reply = await connection.call('EVALSHA', takeScriptSha1, ...rest).catch((error: unknown) => {
      // A node that does not know the script yet (new, restarted, flushed) has not run it: EVAL makes it known there.
      if (codeOf(error) === 'NOSCRIPT') return connection.call('EVAL', takeScript, ...rest)
      throw error
    })
    if (!Buffer.isBuffer(reply)) throw new Error('take.lua answered with something else than bytes')
    return decodeReply(reply, operations)
  }

  return async (operations) => {
    try {
      return await execute(operations)
    } catch (error) {
      if (operations.length > 1 && isForSingleKeys(error)) return executeByKey(operations, execute)
      throw error
    }
  }
}

/** In a slot that is moving, a script runs with one key where it answers TRYAGAIN with two. */
const executeByKey = async (operations: readonly ScriptOperation[], execute: RunScript): Promise<ScriptReply> => {
  const byKey = [...Map.groupBy(operations.keys(), (index) => operations[index]?.key).values()]
  const replies = await Promise.all(
    byKey.map((indexes) => execute(indexes.flatMap((index) => operations[index] ?? []))),
  )
  const results: ScriptReply['results'][number][] = []
  for (const [group, indexes] of byKey.entries())
    for (const [at, index] of indexes.entries()) {
      const result = replies[group]?.results[at]
      if (result !== undefined) results[index] = result
    }
  return { droppedBuckets: replies.reduce((sum, { droppedBuckets }) => sum + droppedBuckets, 0), results }
}

const codeOf = (error: unknown) => (error instanceof Error ? error.message.split(' ', 1)[0] : '')

/** ioredis follows redirections itself, and reports the last one when there were too many. None of these has run the script. */
const isForSingleKeys = (error: unknown) =>
  error instanceof Error && /^TRYAGAIN|Too many Cluster redirections.*TRYAGAIN/.test(error.message)
