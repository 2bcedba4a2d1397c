import { systemTimers } from '../../seams/timers.ts'
import type { StoreUnderTest } from '../core/store-under-test.fixture.ts'
import { createWitnesses, type WitnessStats } from '../witness/witnesses.ts'
import { createConnection } from './connect.ts'
import type { RunScript } from './lane-queue.ts'
import { noCredentials } from './open-store.fixture.ts'
import { createRedisStore } from './redis-store.ts'
import { createRunScript } from './run-script.ts'
import { createShards } from './shards.ts'
import { parseRedisAddress } from './store-address.ts'
import { ruleHash, type StateFormat } from './take-script.ts'

const seams = { timers: systemTimers, randomness: Math.random }

export type ControlledStore = StoreUnderTest & {
  /** Sets the store's clock, and no other. */
  readonly stepUs: (us: number) => void
  readonly witnessStats: () => WitnessStats
}

/** The store over a real Redis whose script goes by the test's clock. It writes the formats in turn, call by call. */
export const openControlledStore = async (
  addressText: string,
  stateFormats: readonly StateFormat[] = [2],
): Promise<ControlledStore> => {
  const address = parseRedisAddress(addressText)
  if (address === undefined) throw new Error(`no address: ${addressText}`)
  const shards = address.kind === 'cluster' ? createShards(64) : createShards(64, 4)
  const connection = createConnection({
    address,
    credentials: noCredentials,
    randomness: Math.random,
    onError: () => {},
  })
  await connection.connect()
  let nowUs = Date.now() * 1000
  // Unlike the store's clock it is never set back.
  let passedUs = 0
  const monotonicUs = () => Math.floor(performance.now() * 1000)
  const runs = stateFormats.map((stateFormat) =>
    createRunScript({
      connection,
      stateFormat,
      retryMs: 20_000,
      timers: systemTimers,
      monotonicUs,
      nowUs: () => nowUs,
    }),
  )
  const witnesses = createWitnesses({ monotonicUs: () => passedUs, ruleHash })
  let calls = 0
  const run: RunScript = (operations) => {
    const turn = runs[calls % runs.length]
    calls += 1
    return turn === undefined ? Promise.reject(new Error('no format')) : turn(operations)
  }
  return {
    store: createRedisStore({ shards, run, deadlineMs: 20_000, ...seams, monotonicUs: () => passedUs, witnesses }),
    nowUs: () => nowUs,
    advanceUs: (us: number) => {
      nowUs += us
      passedUs += Math.max(0, us)
    },
    stepUs: (us: number) => {
      nowUs += us
    },
    witnessStats: witnesses.stats,
    [Symbol.asyncDispose]: () => connection[Symbol.asyncDispose](),
  }
}
