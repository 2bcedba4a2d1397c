/** `take.lua` as far as witnesses are concerned, in TypeScript, and the mistakes that would break them. */
import { nanoTokens, refill, untilFullUs } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { AskedBucket } from '../core/store.ts'
import type { Operation, Result } from './judge-result.ts'
import { isOlder, missingAfter, type Told } from './witness.ts'
import type { Testimony } from './witnesses.ts'

export type Mistake =
  | 'reset deletes'
  | 'expires early'
  | 'refunds'
  | 'another rule begins no epoch'
  | 'forgets what the last rule kept'
  | 'adopts an epoch of a witness that says nothing'

type Stored = Told & { readonly fullAtUs: number }

/** One for each rule of small numbers. */
export const hashOf = ({ capacityTokens, refillTokens, periodS }: Rule) =>
  (capacityTokens * 400 + refillTokens * 20 + periodS) % 65_521

export const createStoreModel = (mistake?: Mistake) => {
  const stored = new Map<string, Stored>()
  let taught = 0

  const look = (asked: AskedBucket, nowUs: number): Stored => {
    const found = stored.get(asked.name)
    const kept = found !== undefined && found.fullAtUs > nowUs ? found : undefined
    const bucket = refill(kept?.bucket, asked.rule, nowUs)
    if (kept === undefined) return { bucket, epoch: 0, grantedTokens: 0, ruleHash: hashOf(asked.rule), fullAtUs: nowUs }
    return { ...kept, bucket, grantedTokens: bucket.deficitNano === 0 ? 0 : kept.grantedTokens }
  }

  const write = (asked: AskedBucket, told: Stored) => {
    const { rule } = asked
    const isSwitch = told.ruleHash !== hashOf(rule) && mistake !== 'another rule begins no epoch'
    const epoch = (told.epoch + (isSwitch ? 1 : 0)) % 65_536
    const emptyUs = untilFullUs({ deficitNano: nanoTokens(rule.capacityTokens), atUs: 0 }, rule)
    const waitUs = Math.max(untilFullUs(told.bucket, rule), epoch > 0 ? emptyUs : 0)
    const early = mistake === 'expires early' ? waitUs / 2 : waitUs
    const horizonUs = epoch > 0 && mistake !== 'forgets what the last rule kept' ? told.fullAtUs : 0
    const fullAtUs = Math.max(told.bucket.atUs + early, horizonUs)
    stored.set(asked.name, { ...told, epoch, ruleHash: hashOf(rule), fullAtUs })
  }

  const recall = (asked: AskedBucket, testimony: Testimony | undefined, found: Stored): Stored => {
    if (testimony === undefined || found.ruleHash !== hashOf(asked.rule)) return found
    if (isOlder(testimony.epoch, found.epoch)) return found
    const byClockUs = found.bucket.atUs - testimony.bucket.atUs
    const elapsedUs = Math.min(Math.max(byClockUs, testimony.leastElapsedUs), testimony.mostElapsedUs)
    const deficitNano = missingAfter(testimony, asked.rule, elapsedUs)
    const isAhead = isOlder(found.epoch, testimony.epoch)
    const saysNothing = deficitNano === 0 && mistake !== 'adopts an epoch of a witness that says nothing'
    if (saysNothing || (!isAhead && deficitNano <= found.bucket.deficitNano)) return found
    taught += 1
    const grantedTokens = Math.max(found.grantedTokens, testimony.grantedTokens)
    const told = { ...found, epoch: testimony.epoch, grantedTokens, bucket: { ...found.bucket, deficitNano } }
    write(asked, told)
    return told
  }

  const affordable = ({ rule }: AskedBucket, { bucket }: Told, cost: number) =>
    Math.floor(Math.max(0, nanoTokens(rule.capacityTokens) - bucket.deficitNano) / nanoTokens(cost))

  const charge = (asked: AskedBucket, found: Stored, nano: number) => {
    const sum = found.bucket.deficitNano + nano
    const deficitNano = Math.min(sum, nanoTokens(asked.rule.capacityTokens))
    const grantedTokens = found.grantedTokens + Math.floor(nano / nanoTokens(1))
    write(asked, { ...found, grantedTokens, bucket: { ...found.bucket, deficitNano } })
  }

  return {
    look,
    taught: () => taught,
    run: (
      { kind, cost, times, buckets, extraNano = 0 }: Operation,
      testimonies: readonly (Testimony | undefined)[] | undefined,
      nowUs: number,
    ): Result => {
      const before = buckets.map((asked, index) => recall(asked, testimonies?.[index], look(asked, nowUs)))
      const found = buckets.flatMap((asked, index) => {
        const told = before[index]
        return told === undefined ? [] : [{ asked, told }]
      })
      if (kind === 'reset')
        for (const { asked, told } of found) {
          if (mistake === 'reset deletes') stored.delete(asked.name)
          else {
            const bucket = { deficitNano: 0, atUs: told.bucket.atUs }
            write(asked, { ...told, bucket, epoch: told.epoch + 1, grantedTokens: 0, ruleHash: hashOf(asked.rule) })
          }
        }
      if (kind === 'debit') for (const { asked, told } of found) charge(asked, told, nanoTokens(cost) + extraNano)
      if (kind !== 'take' || cost === 0) return { granted: times, replayed: false, before }
      const payable = found.map(({ asked, told }) => (asked.enforced ? affordable(asked, told, cost) : times))
      const granted = Math.min(times, ...payable)
      for (const { asked, told } of found) {
        const paid = Math.min(granted, affordable(asked, told, cost))
        if (paid > 0) charge(asked, told, nanoTokens(paid * cost) * (mistake === 'refunds' ? 0.5 : 1))
      }
      return { granted, replayed: false, before }
    },
  }
}
