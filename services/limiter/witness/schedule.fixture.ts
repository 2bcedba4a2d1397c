/** Random schedules of limiters that share a store, to see whether witnesses change a decision. */
import { holds } from '../../bucket/bucket.ts'
import { makeRule, type Rule } from '../../bucket/rule.ts'
import { createRandom } from '../../conservation/recording.fixture.ts'
import { type AskedBucket, type BucketKey, bucketRef, type GroupKey } from '../core/store.ts'
import type { Operation, Result } from './judge-result.ts'
import { createStoreModel, hashOf, type Mistake } from './store-model.fixture.ts'
import type { Span } from './witness.ts'
import { createWitnesses, type Lineage, type Testimony } from './witnesses.ts'

/** What a limiter may get wrong; the store's mistakes are in its model. */
export type Faults = {
  readonly store?: Mistake
  /** By how much limiters' clocks may be faster or slower than the store's. */
  readonly drift?: number
  readonly callsAtOnce?: number
  readonly tamperSpan?: (span: Span) => Span
  readonly tamperResult?: (result: Result) => Result
  readonly ruleHash?: (rule: Rule) => number
}

type Call = {
  readonly operation: Operation
  readonly testimonies: readonly (Testimony | undefined)[] | undefined
  readonly sentUs: number
  readonly lineage: Lineage
  readonly runsAtUs: number
  readonly endsAtUs: number
  result: Result | undefined
}

/** A schedule of random calls by several limiters on two buckets of a store that forgets nothing. */
export const runSchedule = (seed: number, faults: Faults = {}) => {
  const random = createRandom(seed)
  const upTo = (most: number) => Math.floor(random() * (most + 1))
  const anyRule = (): Rule => {
    const made = makeRule(1 + upTo(12), 1 + upTo(9), 1 + upTo(12))
    if (!made.ok) throw new Error('no rule')
    return made.rule
  }
  // Two generations of the policies, between which limiters change at any time.
  const generations = random() < 0.5 ? [anyRule(), anyRule()] : [anyRule()]
  const { drift = 0.0003, callsAtOnce = 1, ruleHash = hashOf } = faults
  const store = createStoreModel(faults.store)
  const found = { wrongLosses: 0, wrongVetoes: 0, wrongRefusals: 0, learned: 0, refusals: 0, testified: 0 }
  // When a limiter last did what others learn of within a second: filled the bucket, or charged it by another rule.
  let unforeseenUs = Number.NEGATIVE_INFINITY
  let lastRule: Rule | undefined

  let nowUs = 1_700_000_000_000_000
  const limiters = Array.from({ length: 1 + upTo(3) }, () => {
    const rate = 1 + (random() * 2 - 1) * drift
    const originUs = nowUs
    const monotonicUs = () => Math.floor((nowUs - originUs) * rate)
    const maxBuckets = random() < 0.1 ? 1 : 100
    const open = () => createWitnesses({ monotonicUs, ruleHash, maxBuckets })
    return {
      monotonicUs,
      open,
      witnesses: open(),
      generation: 0,
      lineage: {} as Lineage,
      calls: [] as Call[],
      wakesAtUs: nowUs + upTo(1_000_000),
      gone: { losses: 0, vetoes: 0 },
    }
  })
  type Limiter = (typeof limiters)[number]

  const askedBy = ({ generation }: Limiter): readonly AskedBucket[] => {
    const rule = generations[generation % generations.length] ?? generations[0]
    if (rule === undefined) return []
    const all = ['a', 'b'].map((key, index) => ({
      ...bucketRef('s' as GroupKey, key as BucketKey),
      rule,
      enforced: index === 0 || random() < 0.7,
    }))
    return random() < 0.5 ? all : all.slice(0, 1)
  }

  const anyOperation = (limiter: Limiter): Operation => {
    const buckets = askedBy(limiter)
    const capacity = buckets[0]?.rule.capacityTokens ?? 1
    const cost = Math.min(capacity, upTo(3))
    const kind = random()
    if (kind < 0.02) return { kind: 'reset', cost: 0, times: 1, buckets }
    if (kind < 0.05) return { kind: 'debit', cost, extraNano: upTo(999_999_999), times: 1, buckets }
    return { kind: 'take', cost, times: 1 + upTo(2), buckets }
  }

  const anyGapUs = () => {
    const kind = random()
    if (kind < 0.7) return upTo(300_000)
    return kind < 0.95 ? upTo(5_000_000) : upTo(60_000_000)
  }
  /** Mostly short; now and then a store that stands still for seconds. */
  const anyDelayUs = () => (random() < 0.97 ? upTo(20_000) : upTo(900_000))

  const wake = (limiter: Limiter) => {
    limiter.wakesAtUs = nowUs + anyGapUs()
    if (random() < 0.01) {
      const { losses, vetoes } = limiter.witnesses.stats()
      limiter.gone = { losses: limiter.gone.losses + losses, vetoes: limiter.gone.vetoes + vetoes }
      limiter.witnesses = limiter.open()
    }
    if (random() < 0.02) limiter.generation += 1
    if (random() < 0.05) limiter.lineage = {}
    if (limiter.calls.length >= callsAtOnce) return
    const operation = anyOperation(limiter)
    const refused =
      operation.kind === 'take' && operation.cost > 0
        ? limiter.witnesses.refuse(operation.buckets, operation.cost, () => false)
        : undefined
    if (refused !== undefined) {
      found.refusals += 1
      const wouldGrant = operation.buckets.every(
        (asked) => !asked.enforced || holds(store.look(asked, nowUs).bucket, asked.rule, operation.cost),
      )
      if (wouldGrant && nowUs - unforeseenUs > 1_100_000) found.wrongRefusals += 1
      return
    }
    const sentUs = limiter.monotonicUs()
    // Over a new connection whatever is known goes along.
    const testimonies = limiter.witnesses.testify(operation.buckets, limiter.lineage, sentUs)
    if (testimonies !== undefined) found.testified += 1
    const runsAtUs = nowUs + anyDelayUs()
    const { lineage } = limiter
    limiter.calls.push({
      operation,
      testimonies,
      sentUs,
      lineage,
      runsAtUs,
      endsAtUs: runsAtUs + anyDelayUs(),
      result: undefined,
    })
  }

  const runCall = (call: Call) => {
    const { operation } = call
    const rule = operation.buckets[0]?.rule
    if (operation.kind === 'reset' || (lastRule !== undefined && rule !== lastRule)) unforeseenUs = nowUs
    lastRule = rule
    call.result = store.run(operation, call.testimonies, nowUs)
  }

  const end = (limiter: Limiter, call: Call) => {
    limiter.calls.splice(limiter.calls.indexOf(call), 1)
    if (call.result === undefined) return
    found.learned += 1
    const span = { sentUs: call.sentUs, receivedUs: limiter.monotonicUs() }
    const { tamperSpan = (same) => same, tamperResult = (same) => same } = faults
    limiter.witnesses.learn(call.operation, tamperResult(call.result), tamperSpan(span), call.lineage)
  }

  for (let step = 0; step < 150; step += 1) {
    const due = limiters.flatMap((limiter) => [
      { atUs: limiter.wakesAtUs, act: () => wake(limiter) },
      ...limiter.calls.map((call) =>
        call.result === undefined
          ? { atUs: call.runsAtUs, act: () => runCall(call) }
          : { atUs: call.endsAtUs, act: () => end(limiter, call) },
      ),
    ])
    const next = due.reduce((first, one) => (one.atUs < first.atUs ? one : first))
    nowUs = Math.max(nowUs, next.atUs)
    next.act()
  }
  for (const { witnesses, gone } of limiters) {
    found.wrongLosses += witnesses.stats().losses + gone.losses
    found.wrongVetoes += witnesses.stats().vetoes + gone.vetoes
  }
  return { ...found, wrongLosses: found.wrongLosses + store.taught() }
}

type Found = ReturnType<typeof runSchedule>

export const runSchedules = (count: number, faults?: Faults): Found => {
  const total = { wrongLosses: 0, wrongVetoes: 0, wrongRefusals: 0, learned: 0, refusals: 0, testified: 0 }
  for (let seed = 1; seed <= count; seed += 1)
    for (const [name, value] of Object.entries(runSchedule(seed, faults)) as [keyof Found, number][])
      total[name] += value
  return total
}

export const isWrong = ({ wrongLosses, wrongVetoes, wrongRefusals }: Found) =>
  wrongLosses + wrongVetoes + wrongRefusals > 0
