import type { RedisConnection } from './connect.ts'
import { takeScript, takeScriptSha1 } from './take-script.ts'

const READ = "call('GET', KEYS[index])"
const GIVEN = '(ARGV[#ARGV - #KEYS + index] ~= "" and ARGV[#ARGV - #KEYS + index])'

/** `take.lua` as a mistake would have it: buckets are read in one step and written in another, and what happens in between is lost. */
export const nonAtomic = (connection: RedisConnection): RedisConnection => {
  if (!takeScript.includes(READ)) throw new Error(`take.lua does not read by ${READ} any more`)
  const planted = takeScript.replace(READ, GIVEN)
  return {
    ...connection,
    callOver: async (command, ...args) => {
      if (command !== 'EVALSHA' || args[0] !== takeScriptSha1) return connection.callOver(command, ...args)
      const rest = args.slice(1)
      const keys = rest.slice(1, 1 + Number(rest[0]))
      const values = await Promise.all(keys.map((key) => connection.call('GET', key)))
      return connection.callOver(
        'EVAL',
        planted,
        ...rest,
        ...values.map((value) => (Buffer.isBuffer(value) ? value : '')),
      )
    },
  }
}
