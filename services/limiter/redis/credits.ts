import { type Bucket, refill } from '../../bucket/bucket.ts'
import { roundOf } from '../core/round.ts'
import type { AskedBucket } from '../core/store.ts'

/** Credit is forgotten, and a token with it, when it is older or when there is more of it. */
const LIFETIME_US = 2_000_000
const MAX_BUCKETS = 10_000

const NANO = 1_000_000_000

/** One payment that bought nothing. It ends this credit or the next take of the same cost spends it; it is never renewed. */
export type Credit = { readonly costTokens: number; readonly expiresAtUs: number }

export type Credits = {
  /** The bucket was charged the cost, and stood as given after it, for a request that was refused elsewhere. */
  readonly keep: (asked: AskedBucket, costTokens: number, after: Bucket) => void
  /** Takes a credit of exactly the cost out, if there is one. */
  readonly take: (asked: AskedBucket, costTokens: number) => Credit | undefined
  /** Whether there is a credit of exactly the cost. */
  readonly has: (asked: AskedBucket, costTokens: number) => boolean
  /** Puts back what a take did not need after all. */
  readonly putBack: (asked: AskedBucket, credit: Credit) => void
  readonly forget: (asked: AskedBucket) => void
  /** Whether there is none at all, as most of the time. */
  readonly isEmpty: () => boolean
}

type Account = { readonly credits: Credit[]; readonly after: Bucket; readonly keptAtUs: number }

/**
 * What this limiter has paid in advance, bucket by bucket. All credit of a bucket together is never worth more than what the bucket still
 * misses: once it has refilled, the payment has been made good by time.
 */
export const createCredits = (monotonicUs: () => number): Credits => {
  // In the order of the last payment.
  const accounts = new Map<string, Account>()
  const oldest = roundOf(accounts)

  const open = (asked: AskedBucket) => {
    const account = accounts.get(asked.name)
    const now = monotonicUs()
    const credits = account?.credits.filter(({ expiresAtUs }) => expiresAtUs > now) ?? []
    if (account === undefined || credits.length === 0) {
      accounts.delete(asked.name)
      return undefined
    }
    const missing = refill(
      { deficitNano: account.after.deficitNano, atUs: account.keptAtUs },
      asked.rule,
      now,
    ).deficitNano
    while (total(credits) * NANO > missing) credits.shift()
    return { ...account, credits }
  }

  const store = (asked: AskedBucket, account: Account) => {
    accounts.delete(asked.name)
    accounts.set(asked.name, account)
    if (accounts.size <= MAX_BUCKETS) return
    accounts.delete(oldest()?.[0] ?? asked.name)
  }

  return {
    keep: (asked, costTokens, after) => {
      const keptAtUs = monotonicUs()
      const credit = { costTokens, expiresAtUs: keptAtUs + LIFETIME_US }
      store(asked, { credits: [...(open(asked)?.credits ?? []), credit], after, keptAtUs })
    },
    take: (asked, costTokens) => {
      if (!accounts.has(asked.name)) return undefined
      const account = open(asked)
      const index = account?.credits.findIndex((credit) => credit.costTokens === costTokens) ?? -1
      if (account === undefined || index < 0) return undefined
      const [credit] = account.credits.splice(index, 1)
      store(asked, account)
      return credit
    },
    has: (asked, costTokens) =>
      accounts.has(asked.name) && (open(asked)?.credits.some((credit) => credit.costTokens === costTokens) ?? false),
    putBack: (asked, credit) => {
      const account = accounts.get(asked.name)
      if (account !== undefined) store(asked, { ...account, credits: [...account.credits, credit] })
    },
    forget: (asked) => accounts.delete(asked.name),
    isEmpty: () => accounts.size === 0,
  }
}

const total = (credits: readonly Credit[]) => credits.reduce((sum, { costTokens }) => sum + costTokens, 0)
