/** `take.lua` in TypeScript, over the arithmetic of `bucket.ts`: what a single process would do. */
import { type Bucket, charge, holds, refill, untilFullUs } from '../../bucket/bucket.ts'
import type { AskedBucket } from '../core/store.ts'
import type { Testimony } from '../witness/witnesses.ts'
import { ruleHash, type ScriptOperation, type StateFormat } from './take-script.ts'

type Stored = {
  readonly key: string
  readonly bucket: Bucket
  readonly fullAtUs: number
  readonly epoch: number
  readonly granted: number
  readonly rule: number
  /** Written by the call that is under way. */
  readonly isFresh: boolean
}
type Before = {
  readonly asked: AskedBucket
  readonly name: string
  bucket: Bucket
  epoch: number
  granted: number
  rule: number
}

/** How long an entry says that its bucket is not full: format 2 has one byte for it. */
const keptMs: Readonly<Record<StateFormat, (ms: number) => number>> = {
  1: (ms) => ms,
  2: (ms) => {
    let unit = 1
    while (Math.ceil(ms / unit) > 15) unit *= 2
    return Math.ceil(ms / unit) * unit
  },
}

export const createScriptModel = () => {
  const stored = new Map<string, Stored>()

  const look = (key: string, asked: AskedBucket, nowUs: number): Before & { readonly isRebased: boolean } => {
    const name = `${key} ${asked.key}`
    const found = stored.get(name)
    const kept = found !== undefined && (found.isFresh || found.fullAtUs > nowUs) ? found : undefined
    const bucket = refill(kept?.bucket, asked.rule, nowUs)
    const isRebased = kept !== undefined && bucket.atUs < kept.bucket.atUs
    const isFull = bucket.deficitNano === 0 && bucket.atUs > (kept?.bucket.atUs ?? 0)
    return {
      asked,
      name,
      bucket,
      isRebased,
      epoch: kept?.epoch ?? 0,
      granted: kept === undefined || isFull ? 0 : kept.granted,
      rule: kept?.rule ?? ruleHash(asked.rule),
    }
  }

  const write = (key: string, one: Before) => {
    const { rule } = one.asked
    if (one.rule !== ruleHash(rule)) one.epoch += 1
    one.rule = ruleHash(rule)
    const empty = { deficitNano: rule.capacityTokens * 1e9, atUs: 0 }
    const waitUs = Math.max(untilFullUs(one.bucket, rule), one.epoch > 0 ? untilFullUs(empty, rule) : 0)
    const { atUs } = one.bucket
    const last = stored.get(one.name)
    const isKnown = last !== undefined && one.epoch > 0 && (last.isFresh || last.fullAtUs > last.bucket.atUs)
    const sinceUs = isKnown && last.bucket.atUs > atUs ? last.bucket.atUs : atUs
    const keptUs = isKnown ? last.fullAtUs - sinceUs : 0
    const fullAtUs = atUs + Math.ceil(Math.max(waitUs, keptUs) / 1000) * 1000
    const { bucket, epoch, granted } = one
    stored.set(one.name, { key, bucket, fullAtUs, epoch, granted, rule: one.rule, isFresh: true })
  }

  const recall = (one: Before, testimony: Testimony | undefined) => {
    const { rule } = one.asked
    if (testimony === undefined || one.rule !== ruleHash(rule) || testimony.epoch < one.epoch) return false
    const byClockUs = one.bucket.atUs - testimony.bucket.atUs
    const elapsedUs = Math.min(Math.max(byClockUs, testimony.leastElapsedUs), testimony.mostElapsedUs)
    const deficitNano = refill({ deficitNano: testimony.bucket.deficitNano, atUs: 0 }, rule, elapsedUs).deficitNano - 1
    const isNews = testimony.epoch > one.epoch || deficitNano > one.bucket.deficitNano
    if (deficitNano <= 0 || !isNews) return false
    const raisedTokens = Math.floor((deficitNano - one.bucket.deficitNano) / 1e9)
    one.granted = testimony.epoch > one.epoch ? testimony.grantedTokens : one.granted + raisedTokens
    one.bucket = { deficitNano, atUs: one.bucket.atUs }
    one.epoch = testimony.epoch
    return true
  }

  const take = ({ key, cost, times }: ScriptOperation, before: readonly Before[]) => {
    const states = before.map(({ bucket }) => bucket)
    const paid = before.map(() => 0)
    const held = (index: number, { asked }: Before) => holds(states[index] ?? FULL, asked.rule, cost)
    let granted = 0
    for (; granted < times; granted += 1) {
      if (!before.every((one, index) => !one.asked.enforced || held(index, one))) break
      for (const [index, one] of before.entries()) {
        const state = states[index]
        if (cost === 0 || state === undefined || !held(index, one)) continue
        states[index] = charge(state, cost)
        paid[index] = (paid[index] ?? 0) + cost
      }
    }
    for (const [index, one] of before.entries()) {
      const [bucket, tokens = 0] = [states[index], paid[index]]
      if (bucket !== undefined && tokens > 0) write(key, { ...one, bucket, granted: one.granted + tokens })
    }
    return granted
  }

  const run = (operation: ScriptOperation, nowUs: number) => {
    const { kind, key, buckets, testimonies } = operation
    const before = buckets.map((asked, index) => {
      const { isRebased, ...one } = look(key, asked, nowUs)
      if (recall(one, testimonies?.[index]) || isRebased) write(key, one)
      return one
    })
    if (kind === 'reset')
      for (const one of before) {
        const bucket = { deficitNano: 0, atUs: one.bucket.atUs }
        write(key, { ...one, bucket, epoch: one.epoch + 1, granted: 0, rule: ruleHash(one.asked.rule) })
      }
    const granted = kind === 'reset' ? 1 : take(operation, before)
    return {
      granted,
      replayed: false,
      before: before.map(({ bucket, epoch, granted: grantedTokens, rule }) => ({
        bucket,
        epoch,
        grantedTokens,
        ruleHash: rule,
      })),
    }
  }

  /** Whoever writes a group writes all of it, and leaves out what is full: a clock that is set back later does not bring it back. */
  const endCall = (nowUs: number, stateFormat: StateFormat) => {
    const written = new Set(stored.values().flatMap(({ key, isFresh }) => (isFresh ? [key] : [])))
    for (const [name, entry] of stored) {
      if (!written.has(entry.key)) continue
      const { atUs } = entry.bucket
      const fullAtUs = atUs + keptMs[stateFormat]((entry.fullAtUs - atUs) / 1000) * 1000
      if (!entry.isFresh && entry.fullAtUs <= nowUs) stored.delete(name)
      else stored.set(name, { ...entry, fullAtUs, isFresh: false })
    }
  }

  return (operations: readonly ScriptOperation[], nowUs: number, stateFormat: StateFormat) => {
    const results = operations.map((operation) => run(operation, nowUs))
    endCall(nowUs, stateFormat)
    return results
  }
}

const FULL: Bucket = { deficitNano: 0, atUs: 0 }
