import { holdsNano } from '../../bucket/bucket.ts'
import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import type { AskedBucket, BucketStore, Reading, Settle, Take, TakeOutcome } from '../core/store.ts'
import { stretchedNano } from '../core/stretched.ts'
import { createAccounts, type Share } from './accounts.ts'
import type { RemoteStore } from './debit.ts'
import { createDebts } from './debts.ts'
import { createRemembered } from './remembered.ts'

export type SharingStats = {
  readonly rememberedBuckets: number
  /** Buckets of which the store is still owed what was admitted without it. */
  readonly openAccounts: number
  /** Forgotten before the store was charged. */
  readonly evictedAccounts: number
  readonly chargedNano: number
  /** Never charged, because nobody knows whether it was. */
  readonly lostNano: number
}

export type SharingStore = {
  /** The remote store, which is charged what was admitted without it before it is asked again. */
  readonly store: BucketStore
  /** Counts this limiter's share of buckets alone; for takes that the remote store does not answer. */
  readonly local: Pick<BucketStore, 'take'>
  readonly stats: () => SharingStats
}

type Options = {
  readonly remote: RemoteStore
  /** Limiters that share the store, this one included. */
  readonly replicas: () => number
  readonly monotonicUs: () => number
  readonly timers: Timers
  readonly randomness: Randomness
}

/**
 * The plan for an outage of the store: each limiter goes on from what it last saw of a bucket and admits its own part of it, as large as
 * its part of the traffic was. So all limiters together admit what the whole bucket would have.
 */
export const createSharingStore = ({ remote, replicas, monotonicUs, timers, randomness }: Options): SharingStore => {
  const remembered = createRemembered(monotonicUs)
  const accounts = createAccounts({
    monotonicUs,
    recall: remembered.recall,
    part: (asked) => remembered.part(asked) ?? 1 / Math.max(1, replicas()),
  })
  const debts = createDebts({ accounts, remembered, remote, monotonicUs, timers, randomness })

  const learn = ({ buckets, cost }: Take, { granted, replayed, readings }: Counted) => {
    buckets.forEach((asked, index) => {
      const reading = readings[index]
      if (reading !== undefined && reading.isUnseen !== true)
        remembered.learn(asked, reading, granted && reading.held && !replayed ? cost : 0)
    })
  }

  /** Until the store's word on a take has come or can come no more, what was admitted for it is not paid. */
  const settleAdmitted = async (settle: Settle, { buckets, cost }: Take) => {
    const tell = buckets.map((asked) => ({ asked, told: accounts.unsettled(asked, cost) }))
    const charged = await settle(true)
    for (const { asked, told } of tell) told(charged.includes(asked))
    return charged
  }

  return {
    store: {
      // Not async: each take would wait for one more promise.
      take: (take) => {
        for (const asked of take.buckets) debts.payBefore(asked)
        return remote.take(take).then((outcome): TakeOutcome => {
          if (outcome.kind === 'counted') {
            learn(take, outcome)
            return outcome
          }
          return {
            kind: 'unavailable',
            settle: (admitted) => (admitted ? settleAdmitted(outcome.settle, take) : outcome.settle(false)),
          }
        })
      },
      reset: (buckets) => {
        for (const asked of buckets) {
          accounts.forget(asked)
          remembered.forget(asked)
        }
        return remote.reset(buckets)
      },
    },

    local: {
      take: async ({ cost, buckets }) => {
        const found = buckets.map((asked) => {
          const share = accounts.look(asked)
          return { asked, share, reading: readingOf(asked, share, cost) }
        })
        const granted = found.every(({ asked, reading }) => !asked.enforced || reading.held)
        const pays = granted && cost > 0
        const readings = found.map(({ asked, share, reading }): Reading => {
          if (!pays || !reading.held) return reading
          accounts.charge(asked, share, cost)
          debts.payInTime()
          return { ...reading, bucket: accounts.look(asked).local }
        })
        return { kind: 'counted', basis: 'share', granted, replayed: false, readings }
      },
    },

    stats: () => ({
      rememberedBuckets: remembered.size(),
      openAccounts: accounts.size(),
      evictedAccounts: accounts.evicted(),
      ...debts.stats(),
    }),
  }
}

type Counted = Extract<TakeOutcome, { kind: 'counted' }>

const readingOf = ({ rule }: AskedBucket, { local, stretch }: Share, costTokens: number): Reading => ({
  bucket: local,
  held: holdsNano(local, rule, stretchedNano(costTokens, rule, stretch)),
  stretch,
})
