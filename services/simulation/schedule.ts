import type { Check } from '../contract/check.ts'
import { planFaults } from './faults.ts'
import { createJournal } from './journal.ts'
import { excessOf } from './law.ts'
import { createRandom } from './model/random.ts'
import { createVirtualTime } from './model/virtual-time.ts'
import { drawPlan } from './plan.ts'
import { DOMAIN } from './policies.ts'
import { brokenPromises } from './promises.ts'
import { DEADLINE_MS, OTHERS, openWorld, STORE_DEADLINE_MS } from './world.ts'

const START_US = 1_700_000_000_000_000
/** Names are looked up, connections are opened. */
const OPENING_US = 10_000
/** What was begun while something was wrong has come to its end. */
const SUBSIDING_US = 3_000_000
/** After the last fault every API asks limiters, and every limiter counts in the store again within this time. */
const RECOVERY_US = 5_000_000
/** Of APIs, and of limiters: so that breakers probe, with a pause at the end in which buckets fill. */
const API_TRAFFIC_AT_US = [0, 600_000, 1_200_000, 1_800_000, 4_000_000]
const TRAFFIC_AT_US = 2_300_000
const ENDING_US = 500_000
/** As many different checks about one client. */
const SPREADS = 4

export type ScheduleKind = 'kept' | 'lost' | 'stepped'

export type ScheduleResult = {
  readonly seed: number
  /** What broke a promise, for a person to read; none if all were kept. */
  readonly violations: readonly string[]
  readonly checks: number
  readonly decidedLocally: number
  /** Checks that APIs decided without a limiter. */
  readonly fallenBack: number
  /** Whether no writes were lost and no clock was set, some were, or one was. */
  readonly kind: ScheduleKind
  /** Tokens beyond the law in the worst window, as a part of the capacity; 0 or less: the law was kept. */
  readonly excessPart: number
  /** The same for the same seed, whenever and wherever. */
  readonly traceHash: number
}

/** Runs one schedule of random checks, delays and faults against the real code of limiters and clients, and holds what they said to the promises. */
export const runSchedule = async (seed: number): Promise<ScheduleResult> => {
  const random = createRandom(seed)
  const time = createVirtualTime(START_US)
  const plan = drawPlan(random)
  const journal = createJournal({
    time,
    limiterDeadlineUs: STORE_DEADLINE_MS * 1000,
    apiDeadlineUs: DEADLINE_MS * 1000,
    hasTenant: plan.tenantRule !== undefined,
  })
  const world = openWorld({ time, random, plan, journal })
  const { limiters, apis } = world
  const clients = Array.from({ length: plan.clients }, (_, index) => `c${index + 1}`)

  const checks = new Map<string, Check>()
  /** The same object for the same question, as a server has it that caches what it has decoded. */
  const checkOf = (client: string, spread: number) => {
    const name = `${client} ${spread}`
    const known = checks.get(name)
    if (known !== undefined) return known
    const attributes = new Map([
      ['client', client],
      ['tenant', 'all'],
      ['spread', String(spread)],
    ])
    const check: Check = { domain: DOMAIN, attributes, cost: 1 }
    checks.set(name, check)
    return check
  }
  const askApi = (index: number, client: string, spread: number) => {
    const api = apis[index]
    const check = checkOf(client, spread)
    api?.process.receive(() => void journal.ask(index, api, check))
  }
  const askLimiters = (about: readonly string[]) => {
    for (const limiter of limiters) for (const client of about) void limiter.ask(checkOf(client, 0))
  }
  const askApis = (spread: number) => {
    for (const index of apis.keys()) for (const client of clients) askApi(index, client, spread % SPREADS)
  }

  await time.runUntil(START_US + OPENING_US)
  let atUs = 0
  for (let index = 0; index < plan.checks; index += 1) {
    atUs += random.chance(plan.together) ? 0 : random.whole(1, 2 * plan.gapUs)
    if (random.chance(plan.pauses)) atUs += random.whole(100_000, 1_500_000)
    const client = random.pick(['c1', ...clients])
    if (random.chance(0.7)) {
      const api = random.whole(0, apis.length - 1)
      const spread = random.whole(0, SPREADS - 1)
      time.afterUs(atUs, () => askApi(api, client, spread))
    } else {
      const limiter = random.pick(limiters)
      time.afterUs(atUs, () => void limiter.ask(checkOf(client, 0)))
    }
  }
  for (let reset = 0; reset < plan.resets; reset += 1) {
    const limiter = random.pick(limiters)
    time.afterUs(random.whole(0, atUs), () => void limiter.reset(checkOf('c1', 0)))
  }
  if (plan.nextRule !== undefined) for (const { reload } of limiters) time.afterUs(random.whole(0, atUs), reload)
  const faults = planFaults({ plan, world, withinUs: atUs })
  await time.runUntil(START_US + OPENING_US + atUs + SUBSIDING_US)
  world.heal()

  const healedUs = time.nowUs()
  // Whatever may be asked at the end, so that connections that are no good any more are found before.
  for (const [round, us] of API_TRAFFIC_AT_US.entries()) time.afterUs(us, () => askApis(round))
  time.afterUs(TRAFFIC_AT_US, () => askLimiters(OTHERS))
  await time.runUntil(healedUs + RECOVERY_US)
  const openAccounts = limiters.reduce((sum, { model }) => sum + model().sharing().openAccounts, 0)
  journal.healed()
  askLimiters([...OTHERS, ...clients])
  askApis(random.whole(0, SPREADS - 1))
  await time.runUntil(healedUs + RECOVERY_US + ENDING_US)

  const told = { plan, faults, journal, world, healedUs, openAccounts }
  return {
    seed,
    violations: [...journal.violations, ...brokenPromises(told)],
    checks: journal.checks(),
    decidedLocally: journal.decidedLocally(),
    fallenBack: [...journal.fallbacks.values()].reduce((sum, { length }) => sum + length, 0),
    kind: plan.clocks !== 'true' ? 'stepped' : plan.losses > 0 ? 'lost' : 'kept',
    excessPart: excessOf(told) / plan.rule.capacityTokens,
    traceHash: journal.traceHash(),
  }
}
