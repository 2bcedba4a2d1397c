import { makeRule, type Rule } from '../bucket/rule.ts'
import type { WayCondition } from './model/network-model.ts'
import type { NodeCondition } from './model/node-model.ts'
import type { Random } from './model/random.ts'

/** What happens to a primary's clock. `behind`: it is set back by less than 2 s, and forward again; `any`: it may be set to anything. */
export type ClockPlan = 'true' | 'behind' | 'any'
export type LimiterFault = 'kill' | 'stop' | 'drain'
export type WayFault = Exclude<WayCondition, 'well'> | 'reset' | 'forget'

/** What one schedule is about: a swarm, in which each has some of the faults and many have none. */
export type Plan = {
  readonly limiters: number
  readonly apis: number
  readonly clients: number
  readonly checks: number
  readonly gapUs: number
  /** The part of the checks that come at once with the one before. */
  readonly together: number
  /** The part of the checks before which nobody asks for a while. */
  readonly pauses: number
  readonly rule: Rule
  /** To which limiters change, one after the other; absent: none does. */
  readonly nextRule: Rule | undefined
  /** Of a policy that counts across subjects; absent: there is none. */
  readonly tenantRule: Rule | undefined
  /** By which clients choose a limiter: `client`, or `spread`, which is anything. */
  readonly affinity: 'client' | 'spread'
  readonly rememberRefusals: boolean
  readonly nodeFaults: readonly NodeCondition[]
  readonly losses: number
  readonly moves: number
  readonly clocks: ClockPlan
  readonly resets: number
  readonly wayFaults: readonly WayFault[]
  readonly limiterFaults: readonly LimiterFault[]
  readonly apisStop: boolean
  readonly namesFail: boolean
  readonly narrowPart: number
  readonly isWitnessing: boolean
  /** Each check is looked at as if it had never been asked before. */
  readonly areChecksNew: boolean
}

const CAPACITIES: readonly [number, ...number[]] = [20, 50, 200]
type Refill = readonly [tokens: number, periodS: number]
const NEVER: Refill = [1, 3600]
const TEN_A_SECOND: Refill = [10, 1]
const FLOWING: readonly [Refill, ...Refill[]] = [TEN_A_SECOND, [50, 1]]
const SLOW: readonly [Refill, ...Refill[]] = [TEN_A_SECOND, TEN_A_SECOND, TEN_A_SECOND, NEVER]
const REFILLS: readonly [Refill, ...Refill[]] = [NEVER, ...FLOWING]
const NODE_FAULTS = ['stalled', 'deaf', 'mute', 'cut', 'refusing', 'slow'] as const
const WAY_FAULTS = ['deaf', 'mute', 'silent', 'slow', 'reset', 'forget'] as const
const LIMITER_FAULTS = ['kill', 'stop', 'drain'] as const

/**
 * What a schedule is about. Most promises can be held exactly only where nothing else goes wrong; how everything fares together the
 * rest are for.
 */
const THEMES = [
  'accounts',
  'accounts',
  'accounts',
  'witnesses',
  'losses',
  'clocks',
  'tenants',
  'clients',
  'all',
] as const
type Theme = (typeof THEMES)[number]
const DRAINED: readonly Theme[] = ['witnesses', 'losses', 'clocks', 'tenants']

/** How likely each fault is, by theme; what is not named is as in `all`. */
type Odds = Readonly<
  Record<
    'next' | 'tenant' | 'node' | 'loss' | 'move' | 'clock' | 'reset' | 'way' | 'limiter' | 'api' | 'names' | 'blind',
    number
  >
>
const ALL: Odds = {
  next: 0.2,
  tenant: 0.35,
  node: 0.6,
  loss: 0.4,
  move: 0.25,
  clock: 0.3,
  reset: 0.15,
  way: 0.35,
  limiter: 0.35,
  api: 0.1,
  names: 0.1,
  blind: 0.15,
}
const NONE: Odds = {
  ...ALL,
  next: 0,
  tenant: 0,
  node: 0,
  loss: 0,
  clock: 0,
  reset: 0,
  way: 0,
  limiter: 0,
  api: 0,
  names: 0,
}
const ODDS: Readonly<Record<Theme, Odds>> = {
  accounts: { ...NONE, node: 0.9, way: 0.15, api: 0.1, tenant: 0.1 },
  witnesses: { ...NONE, node: 0.2, next: 0.4, reset: 0.6, tenant: 0.1, limiter: 0.2, blind: 0 },
  losses: { ...NONE, loss: 1, node: 0.1, tenant: 0.1, move: 0.1, blind: 0 },
  clocks: { ...NONE, clock: 1, blind: 0.5 },
  tenants: { ...NONE, tenant: 1, node: 0.2 },
  clients: { ...NONE, node: 0.3, way: 0.8, limiter: 0.6, api: 0.2, names: 0.4 },
  all: ALL,
}

export const drawPlan = (random: Random): Plan => {
  const theme = random.pick(THEMES)
  const odds = ODDS[theme]
  const some = <T>(part: number, faults: readonly T[]) =>
    random.chance(part) ? faults.filter(() => random.chance(0.5)) : []
  const few = (part: number) => (random.chance(part) ? random.whole(1, 2) : 0)
  // A bucket that is asked for more than it has, for seconds.
  const isDrained = DRAINED.includes(theme) && random.chance(0.8)
  const capacity = !isDrained ? random.pick(CAPACITIES) : theme === 'losses' ? 50 : 20
  // Where nothing refills, what was charged is what was admitted.
  const refills: readonly [Refill, ...Refill[]] = !isDrained ? REFILLS : theme === 'tenants' ? FLOWING : SLOW
  const rule = ruleOf(capacity, theme === 'accounts' ? NEVER : random.pick(refills))
  const isTenants = isDrained && theme === 'tenants'
  return {
    limiters: random.whole(1, isTenants ? 2 : 4),
    apis: random.whole(1, 2),
    clients: random.whole(1, 3),
    checks: isDrained ? random.whole(75, 200) : random.whole(15, 75),
    gapUs: random.pick(isTenants ? [5_000, 10_000] : isDrained ? [10_000, 25_000] : [1_000, 10_000, 40_000]),
    together: random.pick([0.1, 0.2, 0.6]),
    pauses: random.chance(isTenants ? 0.7 : 0.1) ? random.pick([0.02, 0.05]) : 0,
    rule,
    nextRule: random.chance(odds.next) ? ruleOf(capacity, random.pick(REFILLS)) : undefined,
    tenantRule: random.chance(odds.tenant) ? timesRule(rule, random.pick([1, 1, 2]), random.whole(1, 3)) : undefined,
    affinity: random.chance(0.5) ? 'client' : 'spread',
    rememberRefusals: random.chance(0.1),
    nodeFaults: some(odds.node, NODE_FAULTS),
    losses: few(odds.loss),
    moves: few(odds.move),
    clocks: random.chance(odds.clock) ? random.pick(['behind', 'any']) : 'true',
    resets: few(odds.reset),
    wayFaults: some(odds.way, WAY_FAULTS),
    limiterFaults: some(odds.limiter, LIMITER_FAULTS),
    apisStop: random.chance(odds.api),
    namesFail: random.chance(odds.names),
    narrowPart: random.chance(0.1) ? 0.3 : 0,
    isWitnessing: !random.chance(odds.blind),
    areChecksNew: random.chance(0.4),
  }
}

const timesRule = ({ capacityTokens, refillTokens, periodS }: Rule, capacities: number, rates: number): Rule => {
  const made = makeRule(capacityTokens * capacities, refillTokens * rates, periodS)
  if (!made.ok) throw new Error(`no rule of ${capacities} times ${capacityTokens}`)
  return made.rule
}

const ruleOf = (capacity: number, [tokens, periodS]: Refill) => {
  const made = makeRule(capacity, tokens, capacity * periodS > 2_592_000 * tokens ? 1 : periodS)
  if (!made.ok) throw new Error(`no rule of ${capacity}, ${tokens} per ${periodS} s`)
  return made.rule
}
