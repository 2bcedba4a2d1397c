import { setTimeout as delay } from 'node:timers/promises'
import type { Machine } from '../../services/limiter/redis/machines.fixture.ts'
import type { Random } from '../../services/simulation/model/random.ts'
import { ask, isPrimary, moveSlots } from './cluster.ts'
import type { Installation } from './installation.ts'

/** Resolves when the fault is over, as far as it ends by itself: the installation may still have to find back. */
type MakeFault = (installation: Installation, random: Random) => Promise<void>

const pickOf = <T>(items: readonly T[], random: Random): T => {
  const picked = items[random.whole(0, items.length - 1)]
  if (picked === undefined) throw new Error('there is none to pick')
  return picked
}

const split = async (machines: readonly Machine[]) => {
  const primaries = await Promise.all(machines.map(isPrimary))
  return {
    primaries: machines.filter((_, index) => primaries[index]),
    replicas: machines.filter((_, index) => !primaries[index]),
  }
}

const toPrimary =
  (fault: (primary: Machine, random: Random) => Promise<void>): MakeFault =>
  async ({ machines }, random) =>
    fault(pickOf((await split(machines)).primaries, random), random)

/** Shorter and longer than the two seconds after which the cluster replaces a node. */
const holdFor = (random: Random) => delay(random.pick([500, 1_500, 5_000]))

export const faults: Readonly<Record<string, MakeFault>> = {
  'primary: machine crash': toPrimary(async (primary) => {
    primary.stallReplication()
    await delay(500)
    await primary.crash()
    await delay(5_000)
    await primary.repair()
  }),
  'primary: killed, back empty': toPrimary((primary) => primary.restartEmpty()),
  'primary: stopped': toPrimary(async (primary, random) => {
    primary.signal('SIGSTOP')
    await holdFor(random)
    primary.signal('SIGCONT')
  }),
  'primary: cable pulled': toPrimary(async (primary, random) => {
    primary.unplug()
    await holdFor(random)
    primary.plugIn()
  }),
  'primary: not heard': toPrimary(async (primary, random) => {
    primary.mute()
    await holdFor(random)
    primary.unmute()
  }),
  'primary: flushed': toPrimary(async (primary) => void (await ask(primary, 'FLUSHALL'))),
  'replica takes over, asked to': async ({ machines }, random) => {
    await ask(pickOf((await split(machines)).replicas, random), 'CLUSTER', 'FAILOVER')
  },
  'slots move': async ({ machines }, random) => {
    const { primaries } = await split(machines)
    const from = pickOf(primaries, random)
    await moveSlots(
      from,
      pickOf(
        primaries.filter((one) => one !== from),
        random,
      ),
      random.whole(50, 200),
    )
  },
  'limiter: killed': ({ limiters }, random) => pickOf(limiters, random).replace('SIGKILL'),
  'limiter: drained': ({ limiters }, random) => pickOf(limiters, random).replace('SIGTERM'),
  'limiter: stopped': async ({ limiters }, random) => {
    const limiter = pickOf(limiters, random)
    limiter.signal('SIGSTOP')
    await holdFor(random)
    limiter.signal('SIGCONT')
  },
  'policies: reloaded': ({ writePolicies }, random) => writePolicies(random.whole(1, 1_000_000)),
  'policies: a wrong file, then a right one': async ({ writePolicies, writeWrongPolicies }, random) => {
    await writeWrongPolicies()
    await delay(2_000)
    await writePolicies(random.whole(1, 1_000_000))
  },
}
