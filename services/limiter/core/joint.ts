import { holdsNano } from '../../bucket/bucket.ts'
import type { Rule } from '../../bucket/rule.ts'
import type { Answer, Decision } from '../../contract/decision.ts'
import { count, type Stores } from './count.ts'
import { decide, decideUncounted } from './decide.ts'
import type { Matched } from './match.ts'
import type { AskedBucket, BucketStore, Reading, Settle } from './store.ts'
import { stretchedNano } from './stretched.ts'

/** A part of a request: what applies to it, and what it costs. 0 charges nothing, and asks whether a token is left. */
export type CountedPart = { readonly matched: readonly Matched[]; readonly cost: number }

/**
 * Counts all parts of one request, or none: an answer for each part, and the parts pay only if every one of them is allowed.
 * Parts of one cost are one take, as the store makes it. Parts of different costs are looked at first and then charged
 * cost by cost: where a bucket runs dry in between, what was charged before stays charged.
 */
export const countTogether = async (parts: readonly CountedPart[], stores: Stores): Promise<readonly Answer[]> => {
  const [only] = parts
  // The usual request of Envoy. One that costs nothing asks something else: whether a token is left.
  if (only !== undefined && parts.length === 1 && only.cost > 0) return [await count(only.matched, only, stores)]
  const { store, localStore } = stores
  const possible = parts.map((part) => (impossibleBy(part) === undefined ? part : { ...part, matched: [] }))
  const isPossible = parts.every((part) => impossibleBy(part) === undefined)
  const outcome = await takeAll(chargesOf(possible), { store, lookOnly: !isPossible })
  const answered =
    outcome.kind === 'away'
      ? await countLocally(possible, { localStore, lookOnly: !isPossible })
      : possible.map((part) => answerOf(part, outcome))
  const answers = answered.map((answer, index) => impossibleAnswer(parts[index]) ?? answer)
  if (outcome.kind === 'away') void outcome.settle(answers.every(({ decision }) => decision.verdict === 'allow'))
  return answers
}

/** What a part needs of each of its buckets. */
const needOf = (cost: number) => Math.max(1, cost)

const impossibleBy = ({ matched, cost }: CountedPart) =>
  matched.find(({ asked }) => asked.enforced && needOf(cost) > asked.rule.capacityTokens)

const impossibleAnswer = (part: CountedPart | undefined): Answer | undefined => {
  const by = part === undefined ? undefined : impossibleBy(part)
  if (by === undefined) return undefined
  return { decision: { verdict: 'deny', basis: 'never_satisfiable', policy: by.policy.name }, shadows: [] }
}

/** A bucket and all that the request takes from it: parts may share one. */
type Charge = { readonly asked: AskedBucket; readonly cost: number }
/** More than any bucket holds, and what a store can be asked for. */
const MOST_COST = 4_294_967_295

type Charges = ReadonlyMap<string, Charge>

/** How many buckets a request would be charged to. */
export const countBuckets = (parts: readonly CountedPart[]) => chargesOf(parts).size

const chargesOf = (parts: readonly CountedPart[]): Charges => {
  const charges = new Map<string, Charge>()
  const add = (isOwn: boolean) => {
    for (const { matched, cost } of parts)
      for (const { asked } of matched)
        if (asked.group.startsWith('s:') === isOwn) {
          const name = asked.name
          const sum = cost + (charges.get(name)?.cost ?? 0)
          charges.set(name, { asked, cost: Math.min(sum, MOST_COST) })
        }
  }
  // A store asks one group after the other: first those of subjects, which refuse most.
  add(true)
  add(false)
  return charges
}

type Taken = {
  readonly kind: 'taken'
  readonly basis: 'bucket' | 'share'
  readonly charges: Charges
  readonly readings: ReadonlyMap<string, Reading>
}

type Take = { readonly store: Pick<BucketStore, 'take'>; readonly lookOnly: boolean }

type Away = { readonly kind: 'away'; readonly settle: Settle }

const takeAll = async (charges: Charges, { store, lookOnly }: Take): Promise<Taken | Away> => {
  const readings = new Map<string, Reading>()
  const takeEach = async (some: readonly Charge[], cost: number) => {
    const outcome = await store.take({ cost, buckets: some.map(({ asked }) => asked) })
    if (outcome.kind === 'unavailable') return { kind: 'away', settle: outcome.settle } as const
    for (const [index, { asked }] of some.entries()) {
      const reading = outcome.readings[index]
      if (reading !== undefined) readings.set(asked.name, reading)
    }
    return outcome
  }

  const all = [...charges.values()]
  const byCost = Map.groupBy(all, ({ cost }) => cost)
  let basis: Taken['basis'] = 'bucket'
  if (lookOnly || byCost.size > 1 || byCost.has(0)) {
    const looked = await takeEach(all, 0)
    if (looked.kind === 'away') return looked
    basis = looked.basis
    for (const { asked, cost } of all) {
      const reading = readings.get(asked.name)
      if (reading !== undefined)
        readings.set(asked.name, { ...reading, held: holdsCost(reading, asked.rule, needOf(cost)) })
    }
    if (lookOnly || all.some(({ asked }) => asked.enforced && readings.get(asked.name)?.held === false))
      return { kind: 'taken', basis, charges, readings }
  }
  for (const [cost, some] of byCost) {
    if (cost === 0) continue
    const outcome = await takeEach(some, cost)
    if (outcome.kind === 'away') return outcome
    basis = outcome.basis
    if (!outcome.granted) break
  }
  return { kind: 'taken', basis, charges, readings }
}

const holdsCost = ({ bucket, stretch }: Reading, rule: Rule, cost: number) =>
  holdsNano(bucket, rule, stretchedNano(cost, rule, stretch))

const answerOf = ({ matched, cost }: CountedPart, { basis, charges, readings }: Taken): Answer => {
  if (matched.length === 0) return { decision: { verdict: 'allow', basis: 'no_policy' }, shadows: [] }
  const own = matched.flatMap(({ asked }) => readings.get(asked.name) ?? [])
  const granted = matched.every(({ asked }) => !asked.enforced || readings.get(asked.name)?.held === true)
  // A bucket that several parts share must hold what all of them take.
  const needed = matched.map(({ asked }) => charges.get(asked.name)?.cost ?? cost)
  return decide(matched, needOf(Math.max(...needed)), {
    kind: 'counted',
    basis,
    granted,
    replayed: false,
    readings: own,
  })
}

type Locally = { readonly localStore: Pick<BucketStore, 'take'>; readonly lookOnly: boolean }

/** As for a single check: a policy that says deny refuses, one that says allow steps aside, and the others are counted here. */
const countLocally = async (
  parts: readonly CountedPart[],
  { localStore, lookOnly }: Locally,
): Promise<readonly Answer[]> => {
  const uncounted = parts.map(({ matched }): Decision => decideUncounted(matched))
  const refused = uncounted.some(({ verdict }) => verdict === 'deny')
  const shared = parts.map((part) => ({
    ...part,
    matched: refused ? [] : part.matched.filter(({ policy }) => policy.onStoreFailure === 'share'),
  }))
  const taken = await takeAll(chargesOf(shared), { store: localStore, lookOnly })
  return shared.map((part, index) =>
    taken.kind === 'away' || !part.matched.some(({ asked }) => asked.enforced)
      ? { decision: uncounted[index] ?? { verdict: 'allow', basis: 'no_policy' }, shadows: [] }
      : answerOf(part, { ...taken, basis: 'share' }),
  )
}
