import type { Plan } from './plan.ts'
import type { World } from './world.ts'

/** How much of what was planned. */
export type Faults = {
  readonly outages: number
  /** Limiters that ended, with what they owed. */
  readonly ended: number
  /** By how much clocks of primaries were set forward, in all. */
  readonly forwardUs: number
  /** The most by which one can have been behind. */
  readonly behindUs: number
}

const LASTS_US = [5_000, 40_000, 400_000, 3_000_000] as const
const STEPS_US = [1_000, 100_000, 1_500_000, 5_000_000, 60_000_000] as const
/** Buckets stand still with a clock that is set back by less than 2 s. */
const MOST_BEHIND_US = 1_900_000

type Options = { readonly plan: Plan; readonly world: World /** From now on. */; readonly withinUs: number }

/** Plans everything that goes wrong, and when; `World.heal` ends what goes on. */
export const planFaults = ({ plan, world, withinUs }: Options): Faults => {
  const { time, random, cluster, network, limiters, apis } = world
  const anyTimeUs = () => random.whole(0, withinUs)
  const after = (us: number, happen: () => void) => void time.afterUs(us, happen)
  let [outages, ended, forwardUs, setBackUs, behindUs] = [0, 0, 0, 0, 0]

  /** One after the other, of any of the kinds, with pauses between them. */
  const inTurn = <K>(kinds: readonly K[], begin: (kind: K, atUs: number, lastsUs: number) => void) => {
    const [first] = kinds
    if (first === undefined) return
    for (let atUs = anyTimeUs(); atUs < withinUs; ) {
      const lastsUs = random.pick(LASTS_US)
      begin(random.pick([first, ...kinds]), atUs, lastsUs)
      outages += 1
      atUs += lastsUs + anyTimeUs()
    }
  }

  inTurn(plan.nodeFaults, (condition, atUs, lastsUs) => {
    const node = random.pick(cluster.nodes)
    after(atUs, () => node.setCondition(condition))
    after(atUs + lastsUs, () => node.setCondition('well'))
  })

  for (let loss = 0; loss < plan.losses; loss += 1) {
    const node = random.pick(cluster.nodes)
    const lagUs = random.pick([0, 10_000, 1_000_000])
    const lossUs = anyTimeUs()
    const how = random.pick(['empty', 'flush', 'fail over'])
    if (how === 'flush') after(lossUs, node.flush)
    else if (how === 'empty') after(lossUs, () => node.lose(undefined))
    else
      after(Math.max(0, lossUs - lagUs), () => {
        const replica = node.snapshot()
        after(lagUs, () => node.lose(replica))
      })
  }

  for (let move = 0; move < plan.moves; move += 1) {
    const tag = random.pick(world.tags)
    const lastsUs = random.pick([1_000, 40_000, 400_000])
    after(anyTimeUs(), () => after(lastsUs, cluster.move(tag)))
  }

  const step = (node: (typeof cluster.nodes)[number], atUs: number, us: number) => {
    after(atUs, () => node.step(us))
    forwardUs += Math.max(0, us)
    setBackUs += Math.max(0, -us)
  }
  for (const node of plan.clocks === 'behind' ? cluster.nodes : [])
    for (let atUs = random.whole(0, 500_000); atUs < withinUs; atUs += random.whole(0, 300_000)) {
      const us = random.whole(0, MOST_BEHIND_US)
      behindUs = Math.max(behindUs, us)
      step(node, atUs, -us)
      atUs += random.whole(0, 300_000)
      step(node, atUs, us)
    }
  if (plan.clocks === 'any')
    for (let count = random.whole(1, 4); count > 0; count -= 1)
      step(random.pick(cluster.nodes), anyTimeUs(), random.pick(STEPS_US) * (random.chance(0.5) ? 1 : -1))

  inTurn(plan.wayFaults, (fault, atUs, lastsUs) => {
    const { address } = random.pick(limiters)
    if (fault === 'reset')
      // Whoever is asked instead may be lost as well.
      return [address, random.pick(limiters).address, random.pick(limiters).address].forEach((one, index) => {
        after(atUs + index * random.whole(0, 5_000), () => network.reset(one))
      })
    if (fault === 'forget') return after(atUs, () => network.forget(address))
    after(atUs, () => network.setCondition(address, fault))
    after(atUs + lastsUs, () => network.setCondition(address, 'well'))
  })

  inTurn(plan.limiterFaults, (fault, atUs, lastsUs) => {
    const limiter = random.pick(limiters)
    switch (fault) {
      case 'stop':
        after(atUs, limiter.stop)
        return after(atUs + lastsUs, limiter.goOn)
      case 'drain':
        ended += 1
        after(atUs, limiter.drain)
        return after(atUs + lastsUs, limiter.restart)
      case 'kill':
        ended += 1
        after(atUs, limiter.kill)
        return after(atUs + lastsUs, limiter.restart)
    }
  })

  inTurn(plan.apisStop ? ['stop'] : [], (_, atUs, lastsUs) => {
    const { process } = random.pick(apis)
    after(atUs, process.stop)
    after(atUs + lastsUs, process.goOn)
  })

  inTurn(plan.namesFail ? ['fail'] : [], (_, atUs, lastsUs) => {
    after(atUs, () => world.setNames(false))
    after(atUs + lastsUs, () => world.setNames(true))
  })

  return { outages, ended, forwardUs, behindUs: plan.clocks === 'behind' ? behindUs : setBackUs }
}
