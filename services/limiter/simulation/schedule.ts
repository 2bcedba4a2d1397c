import { crc32 } from 'node:zlib'
import { makeRule, type Rule } from '../../bucket/rule.ts'
import type { Call } from '../../conservation/history.ts'
import { judge } from '../../conservation/judge.ts'
import { worstWindow } from '../../conservation/worst-window.ts'
import type { Check, DomainName } from '../../contract/check.ts'
import type { PolicyName } from '../../contract/decision.ts'
import { createLimiter } from '../core/limiter.ts'
import { silentObserver } from '../core/observer.ts'
import type { CountingPolicy } from '../core/policy.ts'
import { createRedisStore } from '../redis/redis-store.ts'
import { createShards } from '../redis/shards.ts'
import { ruleHash } from '../redis/take-script.ts'
import { createSharingStore } from '../share/sharing-store.ts'
import { createWitnesses } from '../witness/witnesses.ts'
import { type Condition, createNodeModel } from './node-model.ts'
import { createRandom, type Random } from './random.ts'
import { createVirtualTime, type VirtualTime } from './virtual-time.ts'

const DOMAIN = 'api' as DomainName
const START_US = 1_700_000_000_000_000
const DEADLINE_MS = 15
const shards = createShards(4)
/** After the last fault every limiter counts in the store again within this time. */
const RECOVERY_US = 5_000_000

/** Clients in every shard. */
const OTHERS = ['o1', 'o2', 'o3', 'o4', 'o5', 'o6', 'o7', 'o8']

const FAULTS: readonly [Condition, ...Condition[]] = ['stalled', 'deaf', 'mute', 'cut', 'refusing', 'slow']

export type ScheduleResult = {
  readonly seed: number
  /** What broke a promise, for a person to read; none if all were kept. */
  readonly violations: readonly string[]
  readonly checks: number
  readonly decidedLocally: number
  /** Tokens beyond the law in the worst window, as a part of the capacity; 0 or less: the law was kept. */
  readonly excessPart: number
  readonly outageCount: number
  /** How often a primary lost what was written. */
  readonly lossCount: number
  /** The same for the same seed, whenever and wherever. */
  readonly traceHash: number
}

type Plan = {
  readonly limiterCount: number
  readonly rule: Rule
  readonly clients: number
  readonly checks: number
  readonly gapUs: number
  readonly faults: readonly Condition[]
  readonly losses: number
  /** Of a policy that counts across subjects; absent: there is none. */
  readonly tenantRule: Rule | undefined
}

const CAPACITIES: readonly [number, ...number[]] = [20, 50, 200]
const REFILLS: readonly [readonly [number, number], ...(readonly [number, number])[]] = [
  [1, 3600],
  [10, 1],
  [50, 1],
]

const plan = (random: Random): Plan => {
  const capacity = random.pick(CAPACITIES)
  const [tokens, periodS] = random.pick(REFILLS)
  const made = makeRule(capacity, tokens, capacity * periodS > 2_592_000 * tokens ? 1 : periodS)
  if (!made.ok) throw new Error(`no rule of ${capacity}, ${tokens} per ${periodS} s`)
  return {
    limiterCount: random.whole(1, 5),
    rule: made.rule,
    clients: random.whole(1, 3),
    checks: random.whole(20, 120),
    gapUs: random.pick([1_000, 10_000, 40_000]),
    // A swarm: each schedule has some of the faults, many have none.
    faults: random.chance(0.3) ? [] : FAULTS.filter(() => random.chance(0.5)),
    losses: random.chance(0.3) ? random.whole(1, 2) : 0,
    tenantRule: random.chance(0.3) ? { ...made.rule, capacityTokens: capacity * random.whole(1, 2) } : undefined,
  }
}

const policyOf = (name: string, by: readonly string[], rule: Rule): CountingPolicy => ({
  kind: 'counting',
  name: name as PolicyName,
  conditions: [],
  by,
  rule,
  overrides: [],
  mode: 'enforce',
  onStoreFailure: 'share',
})

type World = { readonly time: VirtualTime; readonly random: Random; readonly plan: Plan }

const openFleet = ({ time, random, plan: { limiterCount, rule, tenantRule } }: World) => {
  const charged = new Map<string, number>()
  const nodeOptions = { time, random, charged, deadlineUs: DEADLINE_MS * 1000 }
  const nodes = [createNodeModel(nodeOptions), createNodeModel(nodeOptions)] as const
  const nodeOf = (key: string) => nodes[key.charCodeAt('weir:{'.length) % 2 === 0 ? 0 : 1]
  const policies = [
    policyOf('client', ['client'], rule),
    ...(tenantRule === undefined ? [] : [policyOf('tenant', ['tenant'], tenantRule)]),
  ]
  let crowded = 0
  const sets = new Map([[DOMAIN, { domain: DOMAIN, subject: 'client', policies }]])
  const limiters = Array.from({ length: limiterCount }, () => {
    const seams = { timers: time.timers, randomness: random.next, monotonicUs: time.nowUs }
    const underWay = new Set<string>()
    const remote = createRedisStore({
      ...seams,
      shards,
      witnesses: createWitnesses({ monotonicUs: time.nowUs, ruleHash }),
      run: async (operations) => {
        const [{ key } = { key: '' }] = operations
        const tag = key.slice(0, key.indexOf('}'))
        if (underWay.has(tag)) crowded += 1
        underWay.add(tag)
        return nodeOf(key)
          .run(operations)
          .finally(() => underWay.delete(tag))
      },
      deadlineMs: DEADLINE_MS,
    })
    const sharing = createSharingStore({ ...seams, remote, replicas: () => limiterCount })
    const limiter = createLimiter({
      policies: () => sets,
      store: sharing.store,
      localStore: sharing.local,
      observer: silentObserver,
    })
    return { ...limiter, stats: sharing.stats }
  })
  return { limiters, nodes, charged, crowded: () => crowded }
}

/** Runs one schedule of random checks, delays and faults against the real limiters, and holds what they said to the promises. */
export const runSchedule = async (seed: number): Promise<ScheduleResult> => {
  const random = createRandom(seed)
  const time = createVirtualTime(START_US)
  const world: World = { time, random, plan: plan(random) }
  const { limiterCount, rule, clients, checks, gapUs, faults, losses, tenantRule } = world.plan
  const fleet = openFleet(world)
  const calls = new Map<string, Call[]>()
  const violations: string[] = []
  let trace = 0
  let decidedLocally = 0

  const ask = async (limiterIndex: number, client: string, healed: boolean) => {
    const check: Check = {
      domain: DOMAIN,
      attributes: new Map([
        ['client', client],
        ['tenant', 'all'],
      ]),
      cost: 1,
    }
    const invokeUs = time.nowUs()
    const checked = await fleet.limiters[limiterIndex]?.shouldAllow(check)
    const responseUs = time.nowUs()
    if (checked === undefined || !checked.ok) throw new Error('a sound check was refused')
    const { decision } = checked.answer
    const isLocal = decision.basis === 'share'
    decidedLocally += isLocal ? 1 : 0
    trace = crc32(`${invokeUs} ${responseUs} ${limiterIndex} ${client} ${decision.verdict} ${decision.basis}`, trace)
    if (responseUs - invokeUs > 2 * DEADLINE_MS * 1000) violations.push(`a check took ${responseUs - invokeUs} µs`)
    if (healed && decision.basis !== 'bucket') violations.push(`limiter ${limiterIndex} still says ${decision.basis}`)
    const call = { invokeUs, responseUs, cost: 1, verdict: decision.verdict, decidedLocally: isLocal }
    const isAbout = (policy: string) =>
      decision.verdict === 'allow' || ('policy' in decision && decision.policy === policy)
    if (isAbout('client')) calls.set(client, [...(calls.get(client) ?? []), call])
    if (tenantRule !== undefined && isAbout('tenant')) calls.set('tenant', [...(calls.get('tenant') ?? []), call])
  }

  /** What the code itself finds wrong breaks a promise as well. */
  const askSafely = (...question: Parameters<typeof ask>) =>
    void ask(...question).catch((error: unknown) => violations.push(String(error)))

  let atUs = 0
  for (let index = 0; index < checks; index += 1) {
    atUs += random.chance(0.2) ? 0 : random.whole(1, 2 * gapUs)
    const [limiter, client] = [random.whole(0, limiterCount - 1), `c${random.whole(1, clients)}`]
    time.afterUs(atUs, () => askSafely(limiter, client, false))
  }
  const [firstFault] = faults
  let outageCount = 0
  for (let faultUs = random.whole(0, atUs); firstFault !== undefined && faultUs < atUs; outageCount += 1) {
    const node = random.pick(fleet.nodes)
    const condition = random.pick([firstFault, ...faults])
    const lastsUs = random.pick([5_000, 40_000, 400_000, 3_000_000])
    time.afterUs(faultUs, () => node.setCondition(condition))
    time.afterUs(faultUs + lastsUs, () => node.setCondition('well'))
    faultUs += lastsUs + random.whole(0, atUs)
  }
  for (let loss = 0; loss < losses; loss += 1) {
    const node = random.pick(fleet.nodes)
    const lossUs = random.whole(0, atUs)
    const lagUs = random.pick([0, 10_000, 1_000_000])
    if (random.chance(0.5)) time.afterUs(lossUs, () => node.lose(undefined))
    else
      time.afterUs(Math.max(0, lossUs - lagUs), () => {
        const replica = node.snapshot()
        time.afterUs(lagUs, () => node.lose(replica))
      })
  }
  await time.runUntil(START_US + atUs + 3_000_000)
  for (const node of fleet.nodes) node.setCondition('well')

  // Traffic of others lets breakers probe; then everybody must be back, and what is owed for those who are gone is paid.
  const settleUs = time.nowUs()
  for (let us = 0; us < RECOVERY_US; us += 1_000_000)
    for (let limiter = 0; limiter < limiterCount; limiter += 1)
      for (const client of OTHERS) time.afterUs(us, () => askSafely(limiter, client, false))
  await time.runUntil(settleUs + RECOVERY_US)
  for (let limiter = 0; limiter < limiterCount; limiter += 1)
    for (const client of OTHERS) time.afterUs(0, () => askSafely(limiter, client, true))
  await time.runUntil(time.nowUs() + 1_000_000)

  for (const { stats } of fleet.limiters) {
    const { openAccounts, lostNano } = stats()
    if (openAccounts > 0) violations.push(`${openAccounts} accounts are still open`)
    if (lostNano > 0 && outageCount + losses === 0) violations.push('a debt was lost without a fault')
  }
  if (fleet.crowded() > 0) violations.push(`${fleet.crowded()} calls of a shard were under way beside another`)
  const repeated = fleet.nodes.reduce((sum, node) => sum + node.repeated(), 0)
  if (repeated > 0) violations.push(`${repeated} calls were run twice`)
  let excessPart = Number.NEGATIVE_INFINITY
  for (const [bucket, asked] of calls) {
    const history = {
      rule: (bucket === 'tenant' ? tenantRule : undefined) ?? rule,
      calls: asked,
      faultBound: { overTokens: 0, underTokens: 0 },
    }
    const excessTokens = worstWindow(history)?.excessTokens ?? -rule.capacityTokens
    excessPart = Math.max(excessPart, excessTokens / rule.capacityTokens)
    if (decidedLocally === 0 && losses === 0 && tenantRule === undefined && !judge(history).lawful)
      violations.push(`${bucket} broke the law without a fault`)
    if (decidedLocally === 0 && losses === 0 && excessTokens > 0)
      violations.push(`${bucket} got ${excessTokens} tokens too many`)
    // Each limiter's part is right on the whole, not at each moment; an outage can never give a bucket away twice.
    if (excessTokens > (outageCount + losses) * (rule.capacityTokens + limiterCount))
      violations.push(`${bucket} got ${excessTokens} tokens too many in ${outageCount} outages and ${losses} losses`)
  }
  violations.push(...accountingFaults(fleet, calls, world.plan))
  return { seed, violations, checks, decidedLocally, excessPart, outageCount, lossCount: losses, traceHash: trace }
}

/**
 * Where nothing refills, every token that was admitted was charged, once, by the time all is well again; what was charged beyond
 * that was granted in a reply that was lost, or too late for a request that had been refused.
 */
const accountingFaults = (
  { charged, nodes, limiters }: ReturnType<typeof openFleet>,
  calls: ReadonlyMap<string, readonly Call[]>,
  { rule, tenantRule, losses }: Plan,
): readonly string[] => {
  if (rule.periodS < 3600 || tenantRule !== undefined || losses > 0) return []
  const lost = limiters.reduce((sum, { stats }) => sum + stats().lostNano / 1e9, 0)
  return [...calls].flatMap(([client, asked]) => {
    const admitted = asked.filter(({ verdict }) => verdict === 'allow').length
    const chargedTokens = sumOf(charged, client)
    const refusedAlone = asked.filter(({ verdict, decidedLocally }) => verdict === 'deny' && decidedLocally).length
    const unheard = nodes.reduce((sum, node) => sum + sumOf(node.unheard, client), refusedAlone)
    if (chargedTokens + lost < admitted - 0.5) return [`${client}: admitted ${admitted}, charged ${chargedTokens}`]
    if (chargedTokens > admitted + unheard + 0.5)
      return [`${client}: admitted ${admitted}, charged ${chargedTokens}, of which ${unheard} unheard`]
    return []
  })
}

/** Of all keys that hold the client's bucket. */
const sumOf = (tokens: ReadonlyMap<string, number>, client: string) =>
  [...tokens].reduce((sum, [name, count]) => sum + (name.includes(client) ? count : 0), 0)
