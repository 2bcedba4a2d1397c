/** `take.lua` in TypeScript, over the arithmetic of `bucket.ts`: what a single process would do. */
import { type Bucket, charge, chargeNano, holds, nanoTokens, refill, untilFullUs } from '../../bucket/bucket.ts'
import type { AskedBucket } from '../core/store.ts'
import type { Testimony } from '../witness/witnesses.ts'
import { requestNameOf, ruleHash, type ScriptOperation, type StateFormat } from './take-script.ts'

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

const MOST = 128
const REMEMBERED_US = 2_000_000

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
  const requests = new Map<string, Stored>()
  // What the call that is under way is about.
  const asked = new Set<string>()

  const look = (key: string, bucketAsked: AskedBucket, nowUs: number): Before & { readonly isRebased: boolean } => {
    const name = `${key} ${bucketAsked.key}`
    asked.add(name)
    const found = stored.get(name)
    const kept = found !== undefined && (found.isFresh || found.fullAtUs > nowUs) ? found : undefined
    const bucket = refill(kept?.bucket, bucketAsked.rule, nowUs)
    const isRebased = kept !== undefined && bucket.atUs < kept.bucket.atUs
    const isFull = bucket.deficitNano === 0 && bucket.atUs > (kept?.bucket.atUs ?? 0)
    return {
      asked: bucketAsked,
      name,
      bucket,
      isRebased,
      epoch: kept?.epoch ?? 0,
      granted: kept === undefined || isFull ? 0 : kept.granted,
      rule: kept?.rule ?? ruleHash(bucketAsked.rule),
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

  const debit = ({ key, cost, extraNano = 0 }: ScriptOperation, before: readonly Before[]) => {
    for (const one of before) {
      const { deficitNano, atUs } = chargeNano(one.bucket, nanoTokens(cost) + extraNano)
      const bucket = { deficitNano: Math.min(deficitNano, nanoTokens(one.asked.rule.capacityTokens)), atUs }
      write(key, { ...one, bucket, granted: one.granted + cost })
    }
    return 1
  }

  const charged = (operation: ScriptOperation, before: readonly Before[], nowUs: number) => {
    const { kind, key, cost, buckets, requestId } = operation
    const name = requestId === undefined ? undefined : `${key} ${requestNameOf(requestId, cost, buckets)}`
    const last = name === undefined ? undefined : requests.get(name)
    const isRemembered = last !== undefined && (last.isFresh || last.fullAtUs > nowUs)
    if (isRemembered && (cost > 0 || kind === 'debit')) return { granted: 1, replayed: true }
    const granted = kind === 'debit' ? debit(operation, before) : take(operation, before)
    if (name !== undefined && granted > 0 && (cost > 0 || kind === 'debit')) {
      const bucket = { deficitNano: 0, atUs: nowUs }
      requests.set(name, { key, bucket, fullAtUs: nowUs + REMEMBERED_US, epoch: 0, granted: 0, rule: 0, isFresh: true })
      asked.add(name)
    }
    return { granted, replayed: false }
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
    return {
      ...(kind === 'reset' ? { granted: 1, replayed: false } : charged(operation, before, nowUs)),
      before: before.map(({ bucket, epoch, granted: grantedTokens, rule }) => ({
        bucket,
        epoch,
        grantedTokens,
        ruleHash: rule,
      })),
    }
  }

  /** Of a group that has been written: leaves out what is full, and of more than 128 entries the fullest that the call was not about. */
  const bound = (entries: Map<string, Stored>, key: string, nowUs: number) => {
    const own = [...entries].filter(([, entry]) => entry.key === key)
    const held = own.filter(([, { isFresh, fullAtUs }]) => isFresh || fullAtUs > nowUs)
    const inOrder = held.toSorted(
      ([a, one], [b, other]) =>
        Number(asked.has(b)) - Number(asked.has(a)) || other.fullAtUs - one.fullAtUs || (a < b ? -1 : 1),
    )
    const kept = new Map(inOrder.slice(0, MOST))
    for (const [name] of own) if (!kept.has(name)) entries.delete(name)
    return held.length - kept.size
  }

  /** Whoever writes a group writes all of it: a clock that is set back later does not bring back what was full. */
  const endCall = (nowUs: number, stateFormat: StateFormat) => {
    const written = new Set(
      [...stored.values(), ...requests.values()].flatMap(({ key, isFresh }) => (isFresh ? [key] : [])),
    )
    let droppedBuckets = 0
    for (const key of written) droppedBuckets += bound(stored, key, nowUs) + bound(requests, key, nowUs)
    for (const [name, entry] of stored) {
      if (!written.has(entry.key)) continue
      const { atUs } = entry.bucket
      const fullAtUs = atUs + keptMs[stateFormat]((entry.fullAtUs - atUs) / 1000) * 1000
      stored.set(name, { ...entry, fullAtUs, isFresh: false })
    }
    for (const [name, entry] of requests) requests.set(name, { ...entry, isFresh: false })
    asked.clear()
    return droppedBuckets
  }

  return (operations: readonly ScriptOperation[], nowUs: number, stateFormat: StateFormat) => {
    const results = operations.map((operation) => run(operation, nowUs))
    return { droppedBuckets: endCall(nowUs, stateFormat), results }
  }
}

const FULL: Bucket = { deficitNano: 0, atUs: 0 }
