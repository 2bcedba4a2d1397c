import type { Rule } from '../bucket/rule.ts'
import type { Call } from '../conservation/history.ts'
import { judge } from '../conservation/judge.ts'
import { unexplainedRefusals } from '../conservation/unexplained-refusals.ts'
import { worstWindow } from '../conservation/worst-window.ts'
import type { Faults } from './faults.ts'
import type { Journal } from './journal.ts'
import type { Plan } from './plan.ts'
import type { World } from './world.ts'

/** A schedule that is over. */
export type Told = {
  readonly plan: Plan
  readonly faults: Faults
  readonly journal: Journal
  readonly world: World
  /** When the last fault was over. */
  readonly healedUs: number
  /** Of which the store was still owed something when all was well again, before anybody asked for those buckets. */
  readonly openAccounts: number
}

/** A limiter that refuses by itself looks so often whether an operator has filled the bucket. */
const RESET_SEEN_WITHIN_US = 1_100_000
const ALONE_PART = 0.12
const ALONE_TOKENS = 5
const RECALLED_TOKENS = 10
const RECALLED_EACH = 5
const NO_BOUND = { overTokens: 0, underTokens: 0 }

/** What of all that was promised was not kept, for a person to read. */
export const brokenPromises = (told: Told): readonly string[] => [
  ...lawFaults(told),
  ...underAdmission(told),
  ...accountingFaults(told),
  ...witnessFaults(told),
  ...storeFaults(told),
  ...clientFaults(told),
]

/** By how much most was admitted beyond the law, in tokens; a reset gives a whole bucket. */
export const excessOf = (told: Told) =>
  [...told.journal.calls].reduce(
    (most, [bucket, calls]) => Math.max(most, excess(told, bucket, calls)),
    -told.plan.rule.capacityTokens,
  )

const perUs = ({ refillTokens, periodS }: Rule) => refillTokens / periodS / 1e6

/** Of the faster of the rules by which it was charged: they have one capacity. */
const ruleOf = ({ rule, nextRule, tenantRule }: Plan, bucket: string) => {
  if (bucket === 'tenant') return tenantRule ?? rule
  return nextRule !== undefined && perUs(nextRule) > perUs(rule) ? nextRule : rule
}

const excess = ({ plan, journal }: Told, bucket: string, calls: readonly Call[]) => {
  const rule = ruleOf(plan, bucket)
  const worst = worstWindow({ rule, calls, faultBound: NO_BOUND })?.excessTokens ?? -rule.capacityTokens
  return worst - rule.capacityTokens * journal.resets.filter(({ client }) => client === bucket).length
}

const lawFaults = (told: Told): readonly string[] => {
  const { plan, faults, journal, world } = told
  const { outages, ended, forwardUs, behindUs } = faults
  const isExact = journal.decidedLocally() === 0 && plan.losses === 0
  const lostTokens = world.limiters.reduce((sum, { model }) => sum + model().sharing().lostNano / 1e9, 0)
  return [...journal.calls].flatMap(([bucket, calls]) => {
    const tooMany = excess(told, bucket, calls)
    const rule = ruleOf(plan, bucket)
    // A slot that moves changes to another clock.
    const clocksUs =
      plan.clocks === 'behind' ? behindUs * (1 + plan.moves) : forwardUs + (forwardUs + behindUs) * plan.moves
    const ofClocks = perUs(rule) * clocksUs
    if (isExact && tooMany > ofClocks)
      return [`${bucket} got ${tooMany} tokens too many, clocks account for ${ofClocks}`]
    // Who is alone knows what it has admitted, with the store or without, but for what is under way. A bucket across subjects may be counted
    // in the store for those whose shard answers, and here for others.
    const isAlone =
      plan.limiters === 1 &&
      bucket !== 'tenant' &&
      plan.losses + ended + journal.resets.length === 0 &&
      plan.clocks === 'true'
    if (isAlone && tooMany > ALONE_PART * rule.capacityTokens + ALONE_TOKENS + lostTokens)
      return [`${bucket} got ${tooMany} tokens too many of a limiter that is alone`]
    // Who remembers what was lost makes it good with its first take.
    const isRecalled = journal.decidedLocally() === 0 && plan.isWitnessing && ended + journal.resets.length === 0
    if (isRecalled && tooMany > plan.losses * (RECALLED_TOKENS + RECALLED_EACH * plan.limiters) + ofClocks)
      return [`${bucket} got ${tooMany} tokens too many, though limiters remembered it`]
    // Each limiter's part is right on the whole, not at each moment; an outage can never give a bucket away twice.
    const times = outages + plan.losses + ended + journal.resets.length
    const most = times * (rule.capacityTokens + plan.limiters) + ofClocks
    return tooMany > most ? [`${bucket} got ${tooMany} tokens too many, at most ${most} can be explained`] : []
  })
}

/** Who is refused has spent it, and what has had time to fill is not empty. */
const underAdmission = ({ plan, journal, faults, healedUs }: Told): readonly string[] => {
  const { rule, nextRule, tenantRule } = plan
  if (tenantRule !== undefined) return []
  const clients = [...journal.calls]
  const slowest = nextRule !== undefined && perUs(nextRule) < perUs(rule) ? nextRule : rule
  const stillEmpty = clients.flatMap(([client, calls]) =>
    slowest.periodS === 1 &&
    calls.some(({ invokeUs, verdict }) => invokeUs >= healedUs + 5_000_000 && verdict === 'deny')
      ? [`${client} has had time to fill, and was refused`]
      : [],
  )
  const isQuiet = journal.decidedLocally() === 0 && plan.losses === 0 && faults.ended === 0
  if (!isQuiet || plan.clocks !== 'true' || nextRule !== undefined) return stillEmpty
  return clients.flatMap(([client, calls]) => {
    const resets = journal.resets.filter((reset) => reset.client === client)
    const last = resets.at(-1)
    if (last === undefined)
      return judge({ rule, calls, faultBound: NO_BOUND }).lawful ? [] : [`${client} broke the law without a fault`]
    if (!last.isDone || resets.length > 1) return []
    const since = calls.filter(({ verdict, invokeUs, responseUs }) =>
      verdict === 'deny' ? invokeUs >= last.responseUs + RESET_SEEN_WITHIN_US : responseUs >= last.invokeUs,
    )
    return unexplainedRefusals({ rule, calls: since, faultBound: NO_BOUND }).length === 0
      ? []
      : [`${client} was refused after its bucket had been filled`]
  })
}

/**
 * Where nothing refills, every token that was admitted was charged, once, by the time all is well again; what was charged beyond
 * that was granted in a reply that was lost, or too late for a request that had been refused.
 */
const accountingFaults = ({ plan, faults, journal, world }: Told): readonly string[] => {
  const { rule, nextRule, tenantRule, losses, clocks } = plan
  if (rule.periodS < 3600 || tenantRule !== undefined || nextRule !== undefined || losses > 0) return []
  if (clocks !== 'true' || faults.ended > 0 || journal.resets.length > 0) return []
  const { cluster, limiters } = world
  const lost = limiters.reduce((sum, { model }) => sum + model().sharing().lostNano / 1e9, 0)
  return [...journal.calls].flatMap(([client, asked]) => {
    const admitted = asked.filter(({ verdict }) => verdict === 'allow').length
    const chargedTokens = sumOf(cluster.charged, client)
    const refusedAlone = asked.filter(({ verdict, decidedLocally }) => verdict === 'deny' && decidedLocally).length
    const unheard = sumOf(cluster.unheard, client) + refusedAlone
    if (chargedTokens + lost < admitted - 0.5) return [`${client}: admitted ${admitted}, charged ${chargedTokens}`]
    if (chargedTokens > admitted + unheard + 0.5)
      return [`${client}: admitted ${admitted}, charged ${chargedTokens}, of which ${unheard} unheard`]
    return []
  })
}

/** Of all keys that hold the client's bucket. */
const sumOf = (tokens: ReadonlyMap<string, number>, client: string) => {
  let sum = 0
  for (const [name, count] of tokens) if (name.endsWith(`:${client} client`)) sum += count
  return sum
}

/** Where no write was lost, none is missed, and no grant of the store is taken back. */
const witnessFaults = ({ plan, journal, world }: Told): readonly string[] => {
  if (plan.losses > 0 || plan.clocks !== 'true') return []
  const gone = journal.gone()
  let [losses, vetoes] = [gone.losses, gone.vetoes]
  for (const { model } of world.limiters) {
    const seen = model().witnessed?.()
    losses += seen?.losses ?? 0
    vetoes += seen?.vetoes ?? 0
  }
  return losses + vetoes > 0
    ? [`${losses} writes were missed and ${vetoes} grants taken back, and nothing was lost`]
    : []
}

const storeFaults = ({ plan, faults, journal, world, openAccounts }: Told): readonly string[] => {
  // Who is refused by a bucket across subjects is not asked for, and neither is their shard.
  const found = openAccounts > 0 && plan.tenantRule === undefined ? [`${openAccounts} accounts are still open`] : []
  let crowded = journal.gone().crowded
  for (const { model } of world.limiters) {
    const limiter = model()
    crowded += limiter.crowded()
    if (limiter.sharing().lostNano > 0 && faults.outages + plan.losses === 0)
      found.push('a debt was lost without a fault')
  }
  if (crowded > 0) found.push(`${crowded} calls of a shard were under way beside another`)
  const repeated = world.cluster.repeated()
  if (repeated > 0) found.push(`${repeated} calls were run twice`)
  return found
}

/** Between APIs and limiters. */
const clientFaults = ({ plan, journal, world }: Told): readonly string[] => {
  const found: string[] = []
  const unanswered = journal.questions.filter(({ isAnswered }) => !isAnswered).length
  if (unanswered > 0) found.push(`${unanswered} checks of APIs were never answered`)
  const decidedAgain = journal.questions.reduce((sum, { decided }) => sum + Math.max(0, decided.length - 1), 0)
  const askedAgain = world.apis.reduce((sum, api) => sum + api.askedAgain(), 0)
  if (decidedAgain > askedAgain) found.push(`${decidedAgain} checks were decided twice, ${askedAgain} were asked again`)
  const isLimiterWell = plan.wayFaults.length + plan.limiterFaults.length === 0 && !plan.apisStop
  if (isLimiterWell && world.apis.some((api) => api.lost() > 0)) found.push('a limiter that was well was given up')
  if (isLimiterWell && journal.fallbacks.size > 0) found.push('a limiter that was well was not waited for')
  for (const [name, calls] of journal.fallbacks) {
    const rule = fallbackRule(plan)
    const excessTokens = worstWindow({ rule, calls, faultBound: NO_BOUND })?.excessTokens ?? 0
    // Its clock is not the true one.
    if (excessTokens > 1) found.push(`${name} got ${excessTokens} tokens more than the fallback has`)
  }
  return found
}

/** The largest of what limiters reported and what the API has of itself. */
const fallbackRule = ({ rule, nextRule, tenantRule }: Plan): Rule => {
  const rules = [rule, ...(nextRule === undefined ? [] : [nextRule]), ...(tenantRule === undefined ? [] : [tenantRule])]
  const fastest = rules.reduce((most, one) => (perUs(one) > perUs(most) ? one : most))
  return { ...fastest, capacityTokens: Math.max(...rules.map(({ capacityTokens }) => capacityTokens)) }
}
