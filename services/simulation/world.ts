import type { Check } from '../contract/check.ts'
import { createShards } from '../limiter/redis/shards.ts'
import type { Journal } from './journal.ts'
import { type ApiModel, openApiModel } from './model/api-model.ts'
import { type ClusterModel, createClusterModel, tagOf } from './model/cluster-model.ts'
import { type LimiterModel, openLimiterModel } from './model/limiter-model.ts'
import { createNetworkModel, type NetworkModel } from './model/network-model.ts'
import type { Random } from './model/random.ts'
import type { VirtualTime } from './model/virtual-time.ts'
import type { Plan } from './plan.ts'
import { NO_POLICIES, policySets } from './policies.ts'

/** A limiter's, for its store. */
export const STORE_DEADLINE_MS = 15
/** An API's, for a limiter. */
export const DEADLINE_MS = 50

const SHARDS = 4
const NODES = 2
const shards = createShards(SHARDS)
const shardOf = (client: string) => shards.place(`s:api:${client}` as Parameters<typeof shards.place>[0])

/** A client in every shard. */
export const OTHERS: readonly string[] = Array.from({ length: SHARDS }, (_, shard) => {
  for (let index = 0; ; index += 1) if (shardOf(`o${index}`).shard === shard) return `o${index}`
})
const TAGS = OTHERS.map((client) => tagOf(shardOf(client).key))

export type SimulatedLimiter = {
  readonly address: string
  readonly model: () => LimiterModel
  /** Asks it as a neighbour does that needs no network. */
  readonly ask: (check: Check) => Promise<void>
  readonly reset: (check: Check) => Promise<void>
  /** It changes to the next policies. */
  readonly reload: () => void
  readonly stop: () => void
  readonly goOn: () => void
  readonly drain: () => void
  readonly kill: () => void
  /** Another process in the place of one that was drained or killed. */
  readonly restart: () => void
}

/** All processes of one schedule, and what is between them. */
export type World = {
  readonly time: VirtualTime
  readonly random: Random
  readonly cluster: ClusterModel
  readonly network: NetworkModel
  readonly tags: readonly [string, ...string[]]
  readonly limiters: readonly [SimulatedLimiter, ...SimulatedLimiter[]]
  readonly apis: readonly [ApiModel, ...ApiModel[]]
  readonly setNames: (answering: boolean) => void
  /** Ends all that goes wrong. */
  readonly heal: () => void
}

type Options = { readonly time: VirtualTime; readonly random: Random; readonly plan: Plan; readonly journal: Journal }

export const openWorld = ({ time, random, plan, journal }: Options): World => {
  const cluster = createClusterModel({
    time,
    random,
    tags: TAGS,
    nodeCount: NODES,
    deadlineUs: STORE_DEADLINE_MS * 1000,
    areChecksNew: plan.areChecksNew,
  })
  const network = createNetworkModel({ time, random, narrowPart: plan.narrowPart })
  const generations = [plan.rule, ...(plan.nextRule === undefined ? [] : [plan.nextRule])].map((rule) =>
    policySets(rule, plan.tenantRule),
  )

  const asSeen = (check: Check): Check =>
    plan.areChecksNew ? { ...check, attributes: new Map(check.attributes) } : check

  const openLimiter = (index: number): SimulatedLimiter => {
    const address = `10.0.0.${index + 1}`
    let generation = 0
    const open = () => {
      const opened = openLimiterModel({
        time,
        random,
        cluster,
        shards,
        policies: () => generations[generation] ?? NO_POLICIES,
        replicas: () => plan.limiters,
        deadlineMs: STORE_DEADLINE_MS,
        isWitnessing: plan.isWitnessing,
        decide: (limiter, check, question) => journal.decide(index, opened.process, limiter, asSeen(check), question),
      })
      network.listen(address, opened.server)
      return opened
    }
    let model = open()
    const kill = () => {
      if (!model.process.isAlive()) return
      journal.died(model)
      network.listen(address, undefined)
      model.process.kill()
    }
    return {
      address,
      model: () => model,
      ask: async (check) => {
        const { process, limiter } = model
        if (process.isAlive())
          process.receive(() => void journal.decide(index, process, limiter, asSeen(check), 'a neighbour'))
      },
      reset: async (check) => {
        const { process, limiter } = model
        if (process.isAlive()) process.receive(() => void journal.reset(limiter, check))
      },
      reload: () => {
        generation = generations.length - 1
      },
      stop: () => model.process.stop(),
      goOn: () => model.process.goOn(),
      drain: () => model.drain(),
      kill,
      restart: () => {
        kill()
        model = open()
      },
    }
  }

  const limiters = Array.from({ length: plan.limiters }, (_, index) => openLimiter(index))
  let areNamesAnswering = true
  const names = {
    resolve: async () => (areNamesAnswering ? limiters.map(({ address }) => address) : []),
  }
  const apis = Array.from({ length: plan.apis }, () =>
    openApiModel({
      time,
      random,
      network,
      names,
      deadlineMs: DEADLINE_MS,
      fallback: { kind: 'local', rule: plan.rule, maxClients: 100 },
      affinity: plan.affinity,
      rememberRefusals: plan.rememberRefusals,
    }),
  )

  return {
    time,
    random,
    cluster,
    network,
    tags: some(TAGS),
    limiters: some(limiters),
    apis: some(apis),
    setNames: (answering) => {
      areNamesAnswering = answering
    },
    heal: () => {
      areNamesAnswering = true
      for (const node of cluster.nodes) node.setCondition('well')
      for (const api of apis) api.process.goOn()
      for (const { address, model, goOn, restart } of limiters) {
        network.setCondition(address, 'well')
        goOn()
        if (!model().process.isAlive()) restart()
      }
    },
  }
}

const some = <T>([first, ...rest]: readonly T[]): readonly [T, ...T[]] => {
  if (first === undefined) throw new Error('there is none')
  return [first, ...rest]
}
