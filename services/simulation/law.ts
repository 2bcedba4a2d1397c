import type { Call } from '../conservation/history.ts'
import { worstWindow } from '../conservation/worst-window.ts'
import type { Plan } from './plan.ts'
import { fasterOf, perUs, type Told } from './told.ts'

const ALONE_TOKENS = 3
const RECALLED_TOKENS = 10
const RECALLED_EACH = 5
const NO_BOUND = { overTokens: 0, underTokens: 0 }

/** By how much most was admitted beyond the law, in tokens; a reset gives a whole bucket. */
export const excessOf = (told: Told) =>
  [...told.journal.calls].reduce(
    (most, [bucket, calls]) => Math.max(most, excess(told, bucket, calls)),
    -told.plan.rule.capacityTokens,
  )

/** Of the faster of the rules by which it was charged: they have one capacity. */
const ruleOf = ({ rule, nextRule, tenantRule }: Plan, bucket: string) => {
  if (bucket === 'tenant') return tenantRule ?? rule
  return fasterOf(rule, nextRule)
}

const excess = ({ plan, journal }: Told, bucket: string, calls: readonly Call[]) => {
  const rule = ruleOf(plan, bucket)
  const worst = worstWindow({ rule, calls, faultBound: NO_BOUND })?.excessTokens ?? -rule.capacityTokens
  return worst - rule.capacityTokens * journal.resets.filter(({ client }) => client === bucket).length
}

/** Takes that the store granted, sent before it could be told what was admitted meanwhile without it. */
const underWay = (calls: readonly Call[]) => {
  const admitted = calls.filter(({ verdict }) => verdict === 'allow')
  const localAtUs = admitted.filter(({ decidedLocally }) => decidedLocally).map(({ responseUs }) => responseUs)
  return admitted.filter(
    ({ decidedLocally, invokeUs, responseUs }) =>
      !decidedLocally && localAtUs.some((atUs) => invokeUs < atUs && atUs <= responseUs),
  ).length
}

/** Over any time t, admitted ≤ capacity + rate·t, and what the faults account for. */
export const lawFaults = (told: Told): readonly string[] => {
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
    if (isAlone && tooMany > ALONE_TOKENS + underWay(calls) + lostTokens)
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
