import { type Bucket, nanoTokens, refill, timesHeld, untilFullUs } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import { type AskedBucket, REMEMBERED_US, requestKey } from '../../limiter/core/store.ts'
import {
  type OperationResult,
  ruleHash,
  type ScriptOperation,
  type StoredBucket,
} from '../../limiter/redis/take-script.ts'
import { isOlder, missingAfter } from '../../limiter/witness/witness.ts'
import type { Testimony } from '../../limiter/witness/witnesses.ts'

const EPOCHS = 65_536
/** A key outlives its last bucket by this. */
const EXPIRY_SLACK_US = 1_000_000

type Entry = StoredBucket & { readonly fullAtUs: number }
type Group = { readonly entries: ReadonlyMap<string, Entry>; readonly expiresAtUs: number }
export type ModelState = ReadonlyMap<string, Group>

/** What was ever charged, by bucket: what it all comes to in the end. */
export type Charged = Map<string, number>

/** What `take.lua` does to the keys of one primary, writing format 1. A test holds it to the model that the script itself is held to. */
export const createRedisModel = (charged: Charged) => {
  let stored = new Map<string, Group>()

  const run = (operation: ScriptOperation, nowUs: number): OperationResult => {
    const { kind, key, cost, times, extraNano = 0, buckets, requestId, testimonies } = operation
    const group = stored.get(key)
    const entries = new Map<string, Entry>()
    if (group !== undefined && group.expiresAtUs > nowUs)
      for (const [name, entry] of group.entries) if (entry.fullAtUs > nowUs) entries.set(name, entry)
    let isWritten = false

    const write = (name: string, rule: Rule, told: StoredBucket) => {
      const hash = ruleHash(rule)
      const { bucket, grantedTokens } = told
      const { atUs } = bucket
      const epoch = told.ruleHash === hash ? told.epoch : (told.epoch + 1) % EPOCHS
      const emptyUs = epoch > 0 ? untilFullUs({ deficitNano: nanoTokens(rule.capacityTokens), atUs: 0 }, rule) : 0
      const last = epoch > 0 ? entries.get(name) : undefined
      // As long as the last rule would have kept it, or the last reset: so long somebody may remember it emptier.
      const keptUs = last === undefined ? 0 : last.fullAtUs - Math.max(atUs, last.bucket.atUs)
      const waitMs = Math.ceil(Math.max(untilFullUs(bucket, rule), emptyUs, keptUs) / 1000)
      const written = { bucket, epoch, grantedTokens, ruleHash: hash, fullAtUs: atUs + waitMs * 1000 }
      entries.set(name, written)
      isWritten = true
      return written
    }
    const pay = (name: string, rule: Rule, told: StoredBucket, tokens: number, nano: number) => {
      const deficitNano = Math.min(told.bucket.deficitNano + nano, nanoTokens(rule.capacityTokens))
      write(name, rule, {
        ...told,
        bucket: { deficitNano, atUs: told.bucket.atUs },
        grantedTokens: told.grantedTokens + tokens,
      })
      const chargedName = `${key} ${name}`
      charged.set(chargedName, (charged.get(chargedName) ?? 0) + nano / nanoTokens(1))
    }

    const before = buckets.map((asked, index): StoredBucket => {
      const { told, isRebased } = look(entries.get(asked.key), asked, nowUs)
      const made = recall(asked.rule, told, testimonies?.[index])
      if (made === told && !isRebased) return told
      const { bucket, epoch, grantedTokens, ruleHash: hash } = write(asked.key, asked.rule, made)
      return { bucket, epoch, grantedTokens, ruleHash: hash }
    })
    const each = (visit: (asked: AskedBucket, told: StoredBucket) => void) => {
      for (const [index, asked] of buckets.entries()) {
        const told = before[index]
        if (told !== undefined) visit(asked, told)
      }
    }
    const request = requestId === undefined ? undefined : requestKey(requestId, cost, buckets)
    const isRemembered = request !== undefined && entries.has(request)
    const remember = () => {
      if (request === undefined) return
      const bucket = { deficitNano: 0, atUs: nowUs }
      entries.set(request, { bucket, epoch: 0, grantedTokens: 0, ruleHash: 0, fullAtUs: nowUs + REMEMBERED_US })
      isWritten = true
    }

    const decide = (): Omit<OperationResult, 'before'> => {
      switch (kind) {
        case 'reset':
          each(({ key: name, rule }, told) => {
            const epoch = (told.epoch + 1) % EPOCHS
            const bucket = { deficitNano: 0, atUs: told.bucket.atUs }
            write(name, rule, { bucket, epoch, grantedTokens: 0, ruleHash: ruleHash(rule) })
          })
          return { granted: 1, replayed: false }
        case 'debit':
          if (isRemembered) return { granted: 1, replayed: true }
          each(({ key: name, rule }, told) => pay(name, rule, told, cost, nanoTokens(cost) + extraNano))
          remember()
          return { granted: 1, replayed: false }
        case 'take': {
          if (cost === 0) return { granted: times, replayed: false }
          if (isRemembered) return { granted: times, replayed: true }
          let granted = times
          each(({ rule, enforced }, { bucket }) => {
            if (enforced) granted = Math.min(granted, timesHeld(bucket, rule, cost))
          })
          if (granted === 0) return { granted, replayed: false }
          each(({ key: name, rule }, told) => {
            const tokens = Math.min(granted, timesHeld(told.bucket, rule, cost)) * cost
            if (tokens > 0) pay(name, rule, told, tokens, nanoTokens(tokens))
          })
          remember()
          return { granted, replayed: false }
        }
      }
    }
    const decided = decide()
    if (isWritten) {
      let lastFullUs = nowUs
      for (const { fullAtUs } of entries.values()) lastFullUs = Math.max(lastFullUs, fullAtUs)
      const expiresAtUs = nowUs + Math.ceil((lastFullUs - nowUs) / 1000) * 1000 + EXPIRY_SLACK_US
      stored.set(key, { entries, expiresAtUs })
    }
    return { ...decided, before }
  }

  return {
    run,
    snapshot: (): ModelState => new Map(stored),
    become: (state: ModelState) => {
      stored = new Map(state)
    },
    /** Gives away the keys that it is asked for. */
    handOver: (isMoved: (key: string) => boolean): ModelState => {
      const moved = new Map([...stored].filter(([key]) => isMoved(key)))
      for (const key of moved.keys()) stored.delete(key)
      return moved
    },
    takeOver: (state: ModelState) => {
      for (const [key, group] of state) stored.set(key, group)
    },
  }
}

/** The bucket refilled to now; a full one when there is none. `isRebased`: it has followed a clock that was set back. */
const look = (entry: Entry | undefined, { rule }: AskedBucket, nowUs: number) => {
  if (entry === undefined) {
    const told = { bucket: { deficitNano: 0, atUs: nowUs }, epoch: 0, grantedTokens: 0, ruleHash: ruleHash(rule) }
    return { told, isRebased: false }
  }
  const bucket: Bucket = refill(entry.bucket, rule, nowUs)
  const isFull = bucket.deficitNano === 0 && bucket.atUs > entry.bucket.atUs
  const { epoch, ruleHash: hash } = entry
  const told = { bucket, epoch, grantedTokens: isFull ? 0 : entry.grantedTokens, ruleHash: hash }
  return { told, isRebased: bucket.atUs < entry.bucket.atUs }
}

/** What was forgotten of a bucket, made good; the same object where nothing was. */
const recall = (rule: Rule, told: StoredBucket, testimony: Testimony | undefined): StoredBucket => {
  if (testimony === undefined || told.ruleHash !== ruleHash(rule) || isOlder(testimony.epoch, told.epoch)) return told
  const byClockUs = told.bucket.atUs - testimony.bucket.atUs
  const elapsedUs = Math.min(Math.max(byClockUs, testimony.leastElapsedUs), testimony.mostElapsedUs)
  const deficitNano = missingAfter(testimony, rule, elapsedUs)
  const isAhead = isOlder(told.epoch, testimony.epoch)
  if (deficitNano === 0 || (!isAhead && deficitNano <= told.bucket.deficitNano)) return told
  const missingTokens = Math.floor((deficitNano - told.bucket.deficitNano) / nanoTokens(1))
  const grantedTokens = isAhead ? testimony.grantedTokens : told.grantedTokens + missingTokens
  return { ...told, epoch: testimony.epoch, grantedTokens, bucket: { deficitNano, atUs: told.bucket.atUs } }
}
