import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import { type AskedBucket, REMEMBERED_US } from '../core/store.ts'
import type { Accounts } from './accounts.ts'
import type { Debit, DebitOutcome, RemoteStore } from './debit.ts'
import type { Remembered } from './remembered.ts'

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
  readonly remembered: Pick<Remembered, 'assume' | 'learn'>
  readonly remote: RemoteStore
  readonly monotonicUs: () => number
  readonly timers: Timers
  readonly randomness: Randomness
}

/** Charges the store, once, for what was admitted without it. */
export const createDebts = ({ accounts, remembered, remote, monotonicUs, timers, randomness }: Options): Debts => {
  const prefix = randomness().toString(36).slice(2)
  let sent = 0
  let roundIsDue = false
  let chargedNano = 0
  let lostNano = 0

  /** Asks again while nobody knows whether it was charged; that the store does not answer then says nothing of the first time. */
  const chargeOnce = async (debit: Debit): Promise<DebitOutcome> => {
    const resendUntilUs = monotonicUs() + RESEND_WITHIN_US
    for (let mayBeCharged = false; ; ) {
      const outcome = await remote.debit(debit)
      if (outcome.kind === 'unknown') mayBeCharged = true
      if (outcome.kind === 'charged' || !mayBeCharged) return outcome
      await new Promise<void>((resolve) => timers.after(ROUND_MIN_MS, resolve))
      // After the wait, in which this process may have stood still.
      if (monotonicUs() >= resendUntilUs) return { kind: 'unknown' }
    }
  }

  const pay = async (asked: AskedBucket) => {
    const closed = accounts.close(asked)
    if (closed === undefined || closed.owedNano === 0) return
    const nano = closed.owedNano
    // Whoever asks here before the store's word has come finds what was spent.
    remembered.assume(asked, closed.local)
    sent += 1
    const debit: Debit = { asked, nano, id: `debit ${prefix} ${sent}` }
    const outcome = await chargeOnce(debit)
    switch (outcome.kind) {
      case 'charged':
        chargedNano += nano
        return remembered.learn(asked, outcome.reading, 0)
      case 'unknown':
        lostNano += nano
        return
      case 'not_charged':
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
