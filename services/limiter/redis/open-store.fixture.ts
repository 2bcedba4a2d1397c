import { systemTimers } from '../../seams/timers.ts'
import { silentStoreObserver } from './observe-run.ts'
import { openRedisStore } from './open-redis-store.ts'
import { parseRedisAddress } from './store-address.ts'

export const noCredentials = {
  password: undefined,
  sentinelUser: undefined,
  sentinelPassword: undefined,
  ca: undefined,
  cert: undefined,
  key: undefined,
}

type Options = Partial<Parameters<typeof openRedisStore>[0]>

/** The store at an address, by the system's clock and with a deadline that only a fault reaches. */
export const tryToOpen = (text: string, options: Options = {}) => {
  const address = parseRedisAddress(text)
  if (address === undefined) throw new Error(`no address: ${text}`)
  return openRedisStore({
    address,
    credentials: noCredentials,
    deadlineMs: 5_000,
    shardCount: 64,
    stateFormat: 2,
    witnessing: true,
    timers: systemTimers,
    randomness: Math.random,
    monotonicUs: () => Math.floor(performance.now() * 1000),
    onError: () => {},
    observer: silentStoreObserver,
    ...options,
  })
}

export const openOrThrow = async (text: string, options: Options = {}) => {
  const opened = await tryToOpen(text, options)
  if (!opened.ok) throw new Error(opened.fault)
  return opened.store
}
