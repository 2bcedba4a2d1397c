import { readFileSync } from 'node:fs'
import type { Timers } from '../../seams/timers.ts'
import type { RedisConnection } from './connect.ts'

const LIMITERS_KEY = 'weir:limiters'
const BEAT_MS = 5_000
const heartbeatScript = readFileSync(new URL('heartbeat.lua', import.meta.url), 'utf8')

type Options = {
  readonly connection: Pick<RedisConnection, 'call'>
  readonly timers: Timers
  /** Names this limiter among all. */
  readonly id: string
  readonly onCount: (limiters: number) => void
}

/** Says in the store, again and again, that this limiter lives, and tells how many do. While the store is away it tells nothing. */
export const startHeartbeats = async ({ connection, timers, id, onCount }: Options): Promise<Disposable> => {
  let stopped = false
  let cancel = () => {}
  const beat = async () => {
    const count = await connection.call('EVAL', heartbeatScript, '1', LIMITERS_KEY, id).catch(() => undefined)
    if (stopped) return
    if (typeof count === 'number') onCount(count)
    cancel = timers.after(BEAT_MS, () => void beat())
  }
  await beat()
  return {
    [Symbol.dispose]: () => {
      stopped = true
      cancel()
    },
  }
}
