import { type Bucket, chargeNano, nanoTokens, refill } from '../../bucket/bucket.ts'
import { createNamedMap } from '../core/named-map.ts'
import { roundOf } from '../core/round.ts'
import type { AskedBucket } from '../core/store.ts'
import { stretchedNano } from '../core/stretched.ts'

/** Beyond it the fullest go, whose loss gives away the least. */
const MAX_ACCOUNTS = 100_000
const EVICTION_SAMPLE = 16

/** A bucket that this limiter counts alone. */
type Account = {
  readonly asked: AskedBucket
  /** A take weighs so many times its cost: 1 ÷ this limiter's part of the bucket. */
  readonly stretch: number
  /** As it would be if this limiter had admitted nothing alone. */
  base: Bucket
  local: Bucket
  /** Of what makes the difference, the part that was admitted, in nano-tokens; it shrinks as the difference does. */
  owedNano: number
  /** Takes of which the store may yet say that it charged them. */
  unsettled: number
}

export type Share = { readonly local: Bucket; readonly stretch: number }

export type Accounts = {
  /** The bucket as it stands now, for a limiter with this part of it. */
  readonly look: (asked: AskedBucket) => Share
  readonly charge: (asked: AskedBucket, share: Share, costTokens: number) => void
  /** The store has not yet said whether it charged a take that was admitted here. The returned function tells, once. */
  readonly unsettled: (asked: AskedBucket, costTokens: number) => (charged: boolean) => void
  /** Closes the account: what the store is still owed, and the bucket as it is thought to be; what has been refilled is owed no more. */
  readonly close: (asked: AskedBucket) => { readonly owedNano: number; readonly local: Bucket } | undefined
  /** What is to be charged again after all. */
  readonly owe: (asked: AskedBucket, nano: number) => void
  /** Buckets of which the store is owed something, and no reply is awaited. */
  readonly payable: () => IteratorObject<AskedBucket>
  readonly isPayable: (asked: AskedBucket) => boolean
  readonly forget: (asked: AskedBucket) => void
  readonly size: () => number
  readonly evicted: () => number
}

type Options = {
  readonly monotonicUs: () => number
  /** The bucket when the store was last asked, refilled to now. */
  readonly recall: (asked: AskedBucket) => Bucket
  /** More than 0, at most 1. */
  readonly part: (asked: AskedBucket) => number
  readonly maxAccounts?: number
}

/** What this limiter has admitted alone, bucket by bucket, until the store has been charged for it. */
export const createAccounts = ({ monotonicUs, recall, part, maxAccounts = MAX_ACCOUNTS }: Options): Accounts => {
  const named = createNamedMap<string, Account>(maxAccounts)
  const accounts = named.entries
  const next = roundOf(accounts)
  let evicted = 0

  const openAccount = (asked: AskedBucket, { local, stretch }: Share) => {
    while (!named.hasRoom()) evict()
    const account: Account = { asked, stretch, base: local, local, owedNano: 0, unsettled: 0 }
    named.set(asked.name, account)
    return account
  }

  const bringUpToDate = (account: Account) => {
    const { rule } = account.asked
    const nowUs = monotonicUs()
    const before = excessNano(account)
    account.base = refill(account.base, rule, nowUs)
    account.local = refill(account.local, rule, nowUs)
    account.owedNano = before === 0 ? 0 : Math.ceil((account.owedNano * excessNano(account)) / before)
    return account
  }

  const evict = () => {
    const sample = Array.from({ length: EVICTION_SAMPLE }, next).filter((one) => one !== undefined)
    const [fullest] = sample.toSorted(([, a], [, b]) => a.local.deficitNano - b.local.deficitNano)
    if (fullest === undefined) return
    named.delete(fullest[0])
    evicted += 1
  }

  const look = (asked: AskedBucket): Share => {
    const account = accounts.get(asked.name)
    if (account === undefined) return { local: recall(asked), stretch: 1 / part(asked) }
    return { local: bringUpToDate(account).local, stretch: account.stretch }
  }

  const add = (asked: AskedBucket, share: Share, weightNano: number, owedNano: number) => {
    const account = bringUpToDate(accounts.get(asked.name) ?? openAccount(asked, share))
    account.local = capped(chargeNano(account.local, weightNano), asked)
    account.owedNano += owedNano
  }

  const isReady = (account: Account | undefined) => account !== undefined && account.unsettled === 0

  return {
    look,
    charge: (asked, share, costTokens) =>
      add(asked, share, stretchedNano(costTokens, asked.rule, share.stretch), nanoTokens(costTokens)),
    unsettled: (asked, costTokens) => {
      const account = accounts.get(asked.name)
      if (account === undefined) return () => {}
      account.unsettled += 1
      return (charged) => {
        account.unsettled -= 1
        if (!charged) return
        const { local, base, owedNano, stretch } = bringUpToDate(account)
        // What is missing for it here is missing there from now on: a share that forgot it would give it away again.
        const chargedNano = nanoTokens(costTokens)
        const paidNano = stretchedNano(costTokens, asked.rule, stretch) - chargedNano
        account.base = capped(chargeNano(base, chargedNano), asked)
        account.local = capped(
          { ...local, deficitNano: Math.max(account.base.deficitNano, local.deficitNano - paidNano) },
          asked,
        )
        account.owedNano = Math.max(0, owedNano - chargedNano)
      }
    },
    close: (asked) => {
      const account = accounts.get(asked.name)
      named.delete(asked.name)
      return account === undefined ? undefined : bringUpToDate(account)
    },
    owe: (asked, nano) => {
      const share = look(asked)
      add(asked, share, Math.ceil(nano * share.stretch), nano)
    },
    payable: () =>
      accounts
        .values()
        .filter(isReady)
        .map(({ asked }) => asked),
    isPayable: (asked) => isReady(accounts.get(asked.name)),
    forget: (asked) => named.delete(asked.name),
    size: () => accounts.size,
    evicted: () => evicted,
  }
}

const capped = ({ deficitNano, atUs }: Bucket, { rule }: AskedBucket): Bucket => ({
  deficitNano: Math.min(deficitNano, nanoTokens(rule.capacityTokens)),
  atUs,
})

const excessNano = ({ local, base }: Account) => Math.max(0, local.deficitNano - base.deficitNano)
