import type { RedisConnection } from './connect.ts'

const LIFETIME_MS = 10 * 60_000

// Plain addition in one step, apart from take.lua: it is what take.lua is judged by.
const SCRIPT = `local sum = tonumber(redis.call('GET', KEYS[1]) or '0') + tonumber(ARGV[1])
redis.call('SET', KEYS[1], string.format('%d', sum), 'PX', ARGV[2])
return sum`

/** Sums that all limiters of a store add to. */
export type Ledger = {
  /** The sum of that name with the tokens added; nothing when the store does not say. */
  readonly add: (name: string, tokens: number) => Promise<number | undefined>
}

export const createLedger = (connection: Pick<RedisConnection, 'call'>): Ledger => ({
  add: async (name, tokens) => {
    const sum = await connection
      .call('EVAL', SCRIPT, '1', `weir:ledger:${name}`, `${tokens}`, `${LIFETIME_MS}`)
      .catch(() => undefined)
    return typeof sum === 'number' ? sum : undefined
  },
})
