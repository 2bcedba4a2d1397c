import { nanoTokens } from '../../bucket/bucket.ts'
import { createMemoryStore } from '../core/memory-store.ts'
import type { AskedBucket, Take } from '../core/store.ts'
import type { RemoteStore } from './debit.ts'

/** What becomes of the next takes: answered; never sent; charged but answered too late; sent, and nobody knows. */
export type Weather = 'up' | 'away' | 'late' | 'lost'

/** A store that several limiters share, in memory, on a clock of the test. It counts what all were granted, as the real one does. */
export const createSharedStore = (nowUs: () => number) => {
  const memory = createMemoryStore({ nowUs })
  const odometers = new Map<string, number>()
  const debits = new Set<string>()

  const take = async (whole: Take) => {
    const outcome = await memory.take(whole)
    if (outcome.kind !== 'counted') return outcome
    const readings = outcome.readings.map((reading, index) => {
      const asked = whole.buckets[index]
      if (asked === undefined) return reading
      const before = reading.bucket.deficitNano === 0 ? 0 : (odometers.get(asked.name) ?? 0)
      const grantedTokens = before + (outcome.granted ? whole.cost : 0)
      odometers.set(asked.name, grantedTokens)
      return { ...reading, grantedTokens }
    })
    return { ...outcome, readings }
  }

  /** One limiter's way to it, in a weather of its own. */
  const connect = () => {
    let weather: Weather = 'up'
    const remote: RemoteStore = {
      take: async (whole) => {
        switch (weather) {
          case 'up':
            return take(whole)
          case 'away':
          case 'lost':
            return { kind: 'unavailable', settle: async () => [] }
          case 'late': {
            const outcome = await take(whole)
            const granted = outcome.kind === 'counted' && outcome.granted
            return { kind: 'unavailable', settle: async (admitted) => (admitted && granted ? whole.buckets : []) }
          }
        }
      },
      reset: (buckets) => memory.reset(buckets),
      isAnswering: () => weather === 'up',
      debit: async ({ asked, nano, id }) => {
        if (weather !== 'up') return { kind: 'not_charged' }
        if (!debits.has(id)) await chargeByForce(asked, Math.ceil(nano / nanoTokens(1)))
        debits.add(id)
        const left = await take({ cost: 0, buckets: [asked] })
        const [reading] = left.kind === 'counted' ? left.readings : []
        return reading === undefined ? { kind: 'unknown' } : { kind: 'charged', reading }
      },
    }
    return {
      remote,
      setWeather: (next: Weather) => {
        weather = next
      },
    }
  }

  /** The memory store knows no debits: as many takes of one as it grants. */
  const chargeByForce = async (asked: AskedBucket, tokens: number) => {
    for (let left = tokens; left > 0; left -= 1) await memory.take({ cost: 1, buckets: [asked] })
  }

  return { connect, take }
}
