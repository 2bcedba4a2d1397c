import type { Told } from './told.ts'

/**
 * Where nothing refills, every token that was admitted was charged, once, by the time all is well again; what was charged beyond
 * that was granted in a reply that was lost, or too late for a request that had been refused.
 */
export const accountingFaults = ({ plan, faults, journal, world }: Told): readonly string[] => {
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
export const witnessFaults = ({ plan, journal, world }: Told): readonly string[] => {
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

/** Between limiters and the store. */
export const storeFaults = ({ plan, faults, journal, world, openAccounts }: Told): readonly string[] => {
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
