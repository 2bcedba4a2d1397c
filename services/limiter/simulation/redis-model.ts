import { type Bucket, charge, holds, refill, untilFullUs } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import { REMEMBERED_US, requestKey } from '../core/store.ts'
import { type OperationResult, ruleHash, type ScriptOperation, type StoredBucket } from '../redis/take-script.ts'
import { isOlder, missingAfter } from '../witness/witness.ts'
import type { Testimony } from '../witness/witnesses.ts'

type Stored = { readonly state: StoredBucket; readonly fullAtUs: number }
export type ModelState = ReadonlyMap<string, Stored>

const NANO = 1_000_000_000
const full = (rule: Rule, atUs: number): StoredBucket => ({
  bucket: { deficitNano: 0, atUs },
  epoch: 0,
  grantedTokens: 0,
  ruleHash: ruleHash(rule),
})

/** What was ever charged, by bucket: what it all comes to in the end. */
export type Charged = Map<string, number>

/** What `take.lua` does to the keys of one primary. The tests of `limiter/redis` hold the script to the same arithmetic. */
export const createRedisModel = (charged: Charged) => {
  let stored = new Map<string, Stored>()

  const read = (name: string, rule: Rule, nowUs: number): StoredBucket => {
    const found = stored.get(name)
    if (found === undefined || found.fullAtUs <= nowUs) return full(rule, nowUs)
    const { bucket, epoch, grantedTokens, ruleHash: hash } = found.state
    const now = refill(bucket, rule, nowUs)
    return { bucket: now, epoch, grantedTokens: now.deficitNano === 0 ? 0 : grantedTokens, ruleHash: hash }
  }

  const write = (name: string, rule: Rule, { bucket, epoch, grantedTokens }: StoredBucket) => {
    const whole: Bucket = { deficitNano: rule.capacityTokens * NANO, atUs: 0 }
    const waitUs = Math.max(untilFullUs(bucket, rule), epoch > 0 ? untilFullUs(whole, rule) : 0)
    const state = { bucket, epoch, grantedTokens, ruleHash: ruleHash(rule) }
    stored.set(name, { state, fullAtUs: bucket.atUs + Math.ceil(waitUs / 1000) * 1000 })
  }

  /** What was forgotten of a bucket, made good. */
  const recall = (name: string, rule: Rule, told: StoredBucket, testimony: Testimony | undefined): StoredBucket => {
    if (testimony === undefined || isOlder(testimony.epoch, told.epoch)) return told
    const byClockUs = told.bucket.atUs - testimony.bucket.atUs
    const elapsedUs = Math.min(Math.max(byClockUs, testimony.leastElapsedUs), testimony.mostElapsedUs)
    const deficitNano = missingAfter(testimony, rule, elapsedUs)
    const isAhead = isOlder(told.epoch, testimony.epoch)
    if (deficitNano === 0 || (!isAhead && deficitNano <= told.bucket.deficitNano)) return told
    const missingTokens = Math.floor((deficitNano - told.bucket.deficitNano) / NANO)
    const grantedTokens = isAhead ? testimony.grantedTokens : told.grantedTokens + missingTokens
    const made = { ...told, epoch: testimony.epoch, grantedTokens, bucket: { ...told.bucket, deficitNano } }
    write(name, rule, made)
    return made
  }

  const note = (name: string, tokens: number) => charged.set(name, (charged.get(name) ?? 0) + tokens)

  const remembers = (name: string, nowUs: number) => (stored.get(name)?.fullAtUs ?? nowUs) > nowUs
  const remember = (name: string, rule: Rule, nowUs: number) =>
    stored.set(name, { state: full(rule, nowUs), fullAtUs: nowUs + REMEMBERED_US })

  const run = (operation: ScriptOperation, nowUs: number): OperationResult => {
    const { kind, key, cost, extraNano = 0, times, buckets, requestId, testimonies } = operation
    const named = buckets.map(({ key: bucketKey, rule, enforced }, index) => {
      const name = `${key} ${bucketKey}`
      return { name, rule, enforced, before: recall(name, rule, read(name, rule, nowUs), testimonies?.[index]) }
    })
    const before = named.map((one) => one.before)
    const [first] = named
    const memory = requestId === undefined ? undefined : `${key} ${requestKey(requestId, cost, buckets)}`
    if (memory !== undefined && remembers(memory, nowUs)) return { granted: times, replayed: true, before }
    switch (kind) {
      case 'reset':
        for (const { name, rule, before: was } of named)
          write(name, rule, {
            ...was,
            bucket: { deficitNano: 0, atUs: was.bucket.atUs },
            grantedTokens: 0,
            epoch: was.epoch + 1,
          })
        return { granted: 1, replayed: false, before }
      case 'debit':
        for (const { name, rule, before: was } of named) {
          const deficitNano = Math.min(was.bucket.deficitNano + cost * NANO + extraNano, rule.capacityTokens * NANO)
          write(name, rule, {
            ...was,
            bucket: { ...was.bucket, deficitNano },
            grantedTokens: was.grantedTokens + cost,
          })
          note(name, cost + extraNano / NANO)
        }
        if (memory !== undefined && first !== undefined) remember(memory, first.rule, nowUs)
        return { granted: 1, replayed: false, before }
      case 'take':
        break
    }
    if (cost === 0) return { granted: times, replayed: false, before }
    const states = named.map((one) => one.before.bucket)
    const paid = named.map(() => 0)
    let granted = 0
    const canPay = (index: number) => {
      const [one, state] = [named[index], states[index]]
      return one !== undefined && state !== undefined && holds(state, one.rule, cost)
    }
    for (; granted < times && named.every((one, index) => !one.enforced || canPay(index)); granted += 1)
      for (const [index, state] of states.entries()) {
        if (!canPay(index)) continue
        states[index] = charge(state, cost)
        paid[index] = (paid[index] ?? 0) + cost
      }
    for (const [index, { name, rule, before: was }] of named.entries()) {
      const [bucket, tokens = 0] = [states[index], paid[index]]
      if (bucket === undefined || tokens === 0) continue
      write(name, rule, { ...was, bucket, grantedTokens: was.grantedTokens + tokens })
      note(name, tokens)
    }
    if (memory !== undefined && granted > 0 && first !== undefined) remember(memory, first.rule, nowUs)
    return { granted, replayed: false, before }
  }

  return {
    run,
    snapshot: (): ModelState => new Map(stored),
    become: (state: ModelState) => {
      stored = new Map(state)
    },
  }
}
