import { type Bucket, holds, refill } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import { createNamedMap } from '../core/named-map.ts'
import { roundOf } from '../core/round.ts'
import type { AskedBucket, Reading } from '../core/store.ts'
import {
  type Judged,
  judgeResult,
  lossOf,
  type Operation,
  type Result,
  type RuleHash,
  stateAfter,
} from './judge-result.ts'
import { leastElapsedUs, missingAfter, mostElapsedUs, type Span, type Told, type Witness } from './witness.ts'

/** Beyond it the bucket that was seen for the first time longest ago goes; one that is asked on is seen again at once. */
const MAX_BUCKETS = 100_000
/** So often the store is asked although it must refuse: an operator may have filled the bucket. */
const ASK_AGAIN_US = 1_000_000
/** A call that is sent now runs within this time. */
const RUNS_WITHIN_US = 1_000_000

/** What a call tells the store of a bucket, so that it makes good what it has forgotten. */
export type Testimony = Told & {
  /** The time since then, at least and at most. */
  readonly leastElapsedUs: number
  readonly mostElapsedUs: number
}

/** The connection, or whatever else, over which the store told something. It may have forgotten it once this is another. */
export type Lineage = object

export type WitnessStats = {
  readonly buckets: number
  /** Buckets of which the store had forgotten something. */
  readonly losses: number
  /** Grants of the store that were taken back for it. */
  readonly vetoes: number
  /** Buckets that the store was told again. */
  readonly taught: number
  /** Takes that were refused without the store. */
  readonly localRefusals: number
}

/** An operation, and what the store was told of its buckets along with it. */
type ToldOperation = Operation & { readonly testimonies?: readonly (Testimony | undefined)[] | undefined }

export type Learned = Pick<Judged, 'result' | 'lost'>

export type Witnesses = {
  /** What to tell the store with an operation that is sent now over a lineage; undefined: it has told it all itself. */
  readonly testify: (
    buckets: readonly AskedBucket[],
    lineage: Lineage | undefined,
    nowUs: number,
  ) => readonly (Testimony | undefined)[] | undefined
  /** Verifies a result and remembers it; undefined: it is as the store says. */
  readonly learn: (
    operation: ToldOperation,
    result: Result,
    span: Span,
    lineage: Lineage | undefined,
  ) => Learned | undefined
  /** Whether the bucket may not have held the cost when it was last seen. */
  readonly mayLack: (asked: AskedBucket, cost: number) => boolean
  /** The readings of a take that the store would refuse; `undefined`: it must be asked. */
  readonly refuse: (
    buckets: readonly AskedBucket[],
    cost: number,
    isPrepaid: (asked: AskedBucket) => boolean,
  ) => readonly Reading[] | undefined
  readonly forget: (asked: AskedBucket) => void
  readonly stats: () => WitnessStats
}

type Heard = { readonly span: Span; readonly lineage: Lineage | undefined }

type Options = {
  readonly monotonicUs: () => number
  readonly ruleHash: RuleHash
  readonly maxBuckets?: number
}

/** Written over by each reply: to make a new one each time was most of what a witness cost. Nobody else keeps hold of it. */
type Entry = { readonly witness: Mutable<Witness>; rule: Rule; lineage: Lineage | undefined; isLow: boolean }
type Mutable<T> = { -readonly [K in keyof T]: T[K] extends Bucket ? Mutable<Bucket> : T[K] }

/** What this limiter last saw of each bucket that is not full: witnesses of writes that the store may lose. */
export const createWitnesses = ({ monotonicUs, ruleHash, maxBuckets = MAX_BUCKETS }: Options): Witnesses => {
  // In the order in which they were first seen since they were full.
  const named = createNamedMap<string, Entry>(maxBuckets)
  const { entries } = named
  const oldest = roundOf(entries)
  /** Names of those of which little is left: any other holds a small cost, and need not be looked for before each take. */
  const low = new Set<string>()
  /** Of the buckets of one operation. */
  const known: (Entry | undefined)[] = []
  let [losses, vetoes, taught, localRefusals] = [0, 0, 0, 0]

  /** The rule's hash is looked up only where it is another rule than last time. */
  const hashFor = (entry: Entry | undefined, rule: Rule) =>
    entry?.rule === rule ? entry.witness.ruleHash : ruleHash(rule)

  const forget = (name: string) => {
    named.delete(name)
    low.delete(name)
  }

  const noteLow = (name: string, isLow: boolean) => {
    if (!isLow) return void low.delete(name)
    low.add(name)
    // One that another bucket of its own operation has pushed out.
    if (low.size > entries.size) for (const one of low) if (!entries.has(one)) low.delete(one)
  }

  const remember = (known: Entry | undefined, { name, rule }: AskedBucket, left: Told, { span, lineage }: Heard) => {
    // A full bucket is what an absent one is; one that was charged by another rule has refilled by neither.
    if (left.bucket.deficitNano === 0 || left.ruleHash !== hashFor(known, rule)) {
      if (known !== undefined) forget(name)
      return
    }
    const isLow = !holds(left.bucket, rule, lowTokens(rule))
    if (known === undefined) {
      while (!named.hasRoom()) forget(oldest()?.[0] ?? name)
      named.set(name, { witness: witnessOf(left, span), rule, lineage, isLow })
      if (isLow) low.add(name)
      return
    }
    if (isLow !== known.isLow) noteLow(name, isLow)
    const { witness } = known
    witness.bucket.deficitNano = left.bucket.deficitNano
    witness.bucket.atUs = left.bucket.atUs
    witness.epoch = left.epoch
    witness.grantedTokens = left.grantedTokens
    witness.ruleHash = left.ruleHash
    witness.sentUs = span.sentUs
    witness.receivedUs = span.receivedUs
    known.rule = rule
    known.lineage = lineage
    known.isLow = isLow
  }

  const learnLoss = (operation: ToldOperation, result: Result, heard: Heard): Learned => {
    const found = operation.buckets.map(({ name }) => entries.get(name))
    const witnesses = found.map((entry) => entry?.witness)
    const judged = judgeResult(operation, result, witnesses, heard.span, ruleHash)
    for (const [index, asked] of operation.buckets.entries()) {
      const left = judged.left[index]
      // What the store has forgotten it must be told, over whatever connection.
      const lineage = judged.lost.includes(asked) ? undefined : heard.lineage
      if (left !== undefined) remember(found[index], asked, left, { ...heard, lineage })
    }
    losses += judged.lost.length
    vetoes += result.granted - judged.result.granted
    return judged
  }

  const testimony = (asked: AskedBucket, nowUs: number): Testimony | undefined => {
    const witness = entries.get(asked.name)?.witness
    if (witness === undefined || witness.ruleHash !== ruleHash(asked.rule)) return undefined
    const bounds = {
      leastElapsedUs: leastElapsedUs(witness, nowUs),
      mostElapsedUs: mostElapsedUs(witness, nowUs + RUNS_WITHIN_US),
    }
    if (missingAfter(witness, asked.rule, bounds.leastElapsedUs) === 0) return undefined
    const { bucket, epoch, grantedTokens } = witness
    return { bucket: { ...bucket }, epoch, grantedTokens, ruleHash: witness.ruleHash, ...bounds }
  }

  /** The bucket as full as it can be now, if it is remembered at all and by the same rule. */
  const atBest = (asked: AskedBucket, nowUs: number) => {
    const witness = entries.get(asked.name)?.witness
    if (witness === undefined || witness.ruleHash !== ruleHash(asked.rule)) return undefined
    const deficitNano = missingAfter(witness, asked.rule, mostElapsedUs(witness, nowUs))
    return { witness, bucket: { deficitNano, atUs: witness.bucket.atUs } }
  }

  const mayLack = ({ name, rule, enforced }: AskedBucket, cost: number) => {
    if (!enforced || (cost <= lowTokens(rule) && !low.has(name))) return false
    const entry = entries.get(name)
    return entry !== undefined && !holds(entry.witness.bucket, rule, cost)
  }

  return {
    mayLack,
    testify: (buckets, lineage, nowUs) => {
      const mayHaveForgotten = ({ name }: AskedBucket) => {
        const entry = entries.get(name)
        return entry !== undefined && (lineage === undefined || entry.lineage !== lineage)
      }
      if (!buckets.some(mayHaveForgotten)) return undefined
      const testimonies = buckets.map((asked) => (mayHaveForgotten(asked) ? testimony(asked, nowUs) : undefined))
      return testimonies.some((one) => one !== undefined) ? testimonies : undefined
    },

    learn: (operation, result, span, lineage) => {
      const heard = { span, lineage }
      const { buckets, testimonies } = operation
      if (testimonies !== undefined) taught += testimonies.filter((testimony) => testimony !== undefined).length
      for (let index = 0; index < buckets.length; index += 1) {
        const [asked, told] = [buckets[index], result.before[index]]
        const entry = asked && entries.get(asked.name)
        known[index] = entry
        if (asked === undefined || told === undefined || entry === undefined) continue
        if (lossOf(entry.witness, asked, told, span, hashFor(entry, asked.rule)) !== undefined)
          return learnLoss(operation, result, heard)
      }
      buckets.forEach((asked, index) => {
        const told = result.before[index]
        const entry = known[index]
        if (told === undefined) return
        remember(entry, asked, stateAfter(operation, result, asked, told, hashFor(entry, asked.rule)), heard)
      })
      return undefined
    },

    refuse: (buckets, cost, isPrepaid) => {
      const nowUs = monotonicUs()
      const refuses = (asked: AskedBucket) => {
        if (!mayLack(asked, cost) || isPrepaid(asked)) return false
        const known = atBest(asked, nowUs)
        if (known === undefined || nowUs - known.witness.receivedUs >= ASK_AGAIN_US) return false
        return !holds(known.bucket, asked.rule, cost)
      }
      if (!buckets.some(refuses)) return undefined
      localRefusals += 1
      return buckets.map((asked): Reading => {
        const witness = atBest(asked, nowUs)?.witness
        if (witness === undefined) return { bucket: FULL, held: holds(FULL, asked.rule, cost), isUnseen: true }
        const { deficitNano } = witness.bucket
        const bucket = refill({ deficitNano, atUs: witness.sentUs }, asked.rule, nowUs)
        return { bucket, held: holds(bucket, asked.rule, cost), grantedTokens: witness.grantedTokens }
      })
    },

    forget: ({ name }) => forget(name),
    stats: () => ({ buckets: entries.size, losses, vetoes, taught, localRefusals }),
  }
}

const lowTokens = ({ capacityTokens }: Rule) => capacityTokens / 4

const witnessOf = ({ bucket, ...told }: Told, span: Span): Witness => ({ bucket: { ...bucket }, ...told, ...span })

const FULL: Bucket = { deficitNano: 0, atUs: 0 }
