import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import { type AskedBucket, REMEMBERED_US } from '../core/store.ts'
import type { Accounts } from './accounts.ts'
import type { Debit, RemoteStore } from './debit.ts'

/** How often accounts are looked through for what can be paid, at random, so that limiters do not come in step. */
const ROUND_MIN_MS = 100
const ROUND_SPREAD_MS = 200
const MAX_PAID_PER_ROUND = 500
/** A debit of unknown fate is sent again while the store surely remembers its id. */
const RESEND_WITHIN_US = REMEMBERED_US / 2

export type DebtsStats = { readonly chargedNano: number; readonly lostNano: number }

export type Debts = {
  /** To be called right before a take of the bucket is sent: what it is owed goes first. */
  readonly payBefore: (asked: AskedBucket) => void
  /** Sees to it that all accounts are paid when their shards answer again. */
  readonly payInTime: () => void
  readonly stats: () => DebtsStats
}

type Options = {
  readonly accounts: Accounts
  readonly remote: RemoteStore
  readonly monotonicUs: () => number
  readonly timers: Timers
  readonly randomness: Randomness
}

/** Charges the store, once, for what was admitted without it. */
export const createDebts = ({ accounts, remote, monotonicUs, timers, randomness }: Options): Debts => {
  const prefix = randomness().toString(36).slice(2)
  let sent = 0
  let roundIsDue = false
  let chargedNano = 0
  let lostNano = 0

  const pay = async (asked: AskedBucket) => {
    const nano = accounts.close(asked)
    if (nano === 0) return
    sent += 1
    const debit: Debit = { asked, nano, id: `debit ${prefix} ${sent}` }
    const startUs = monotonicUs()
    let outcome = await remote.debit(debit)
    if (outcome === 'unknown' && monotonicUs() - startUs < RESEND_WITHIN_US) outcome = await remote.debit(debit)
    if (outcome === 'charged') chargedNano += nano
    else if (outcome === 'unknown') lostNano += nano
    else {
      accounts.owe(asked, nano)
      payInTime()
    }
  }

  const payInTime = () => {
    if (roundIsDue) return
    roundIsDue = true
    timers.after(ROUND_MIN_MS + randomness() * ROUND_SPREAD_MS, () => {
      roundIsDue = false
      const due = accounts.payable().filter(remote.isAnswering).take(MAX_PAID_PER_ROUND).toArray()
      for (const asked of due) void pay(asked)
      if (accounts.size() > 0) payInTime()
    })
  }

  return {
    payBefore: (asked) => {
      if (accounts.isPayable(asked) && remote.isAnswering(asked)) void pay(asked)
    },
    payInTime,
    stats: () => ({ chargedNano, lostNano }),
  }
}
