import type { RunScript } from '../../limiter/redis/lane-queue.ts'
import type { OperationResult, ScriptOperation } from '../../limiter/redis/take-script.ts'
import { type Connection, createNode, type Node, type NodeModel } from './node-model.ts'
import type { ProcessModel } from './process-model.ts'
import type { Random } from './random.ts'
import type { Charged } from './redis-model.ts'
import type { VirtualTime } from './virtual-time.ts'

/** As in `limiter/redis/connect.ts`: a silent connection is given up, and so are the commands on it. */
const SOCKET_TIMEOUT_US = 2_000_000
const MAX_REDIRECTIONS = 4

export type ClusterModel = {
  readonly nodes: readonly [NodeModel, ...NodeModel[]]
  /** One limiter's way to the cluster: a connection to each node, and its idea of which node has which slot. */
  readonly connect: (process: ProcessModel) => RunScript
  /** A slot begins to move; the returned function ends that. */
  readonly move: (tag: string) => () => void
  /** By bucket. */
  readonly charged: Charged
  /** Tokens granted in replies that were lost, by bucket. */
  readonly unheard: Charged
  /** Calls that were run a second time. */
  readonly repeated: () => number
}

type Options = {
  readonly time: VirtualTime
  readonly random: Random
  /** Hash tags, each of a slot; they lie on the nodes in turn. */
  readonly tags: readonly string[]
  readonly nodeCount: number
  readonly deadlineUs: number
  /** Then the buckets of each operation are a list of its own, by which it is known again. */
  readonly areChecksNew: boolean
}

export const tagOf = (key: string) => key.slice('weir:{'.length, key.indexOf('}'))

export const createClusterModel = ({
  time,
  random,
  tags,
  nodeCount,
  deadlineUs,
  areChecksNew,
}: Options): ClusterModel => {
  const charged: Charged = new Map()
  const unheard: Charged = new Map()
  const attempts = new WeakSet<object>()
  let repeated = 0

  const nodes = Array.from({ length: nodeCount }, () => createNode(time, charged))
  const [first] = nodes
  if (first === undefined) throw new Error('a cluster has a node')
  const owners = new Map(tags.map((tag, index) => [tag, nodes[index % nodeCount] ?? first]))
  const moving = new Set<string>()
  const ownerOf = (tag: string) => owners.get(tag) ?? first

  const noteUnheard = (operations: readonly ScriptOperation[], results: readonly OperationResult[]) => {
    for (const [index, { key, kind, cost, buckets }] of operations.entries())
      if (kind === 'take')
        for (const { key: bucketKey } of buckets) {
          const name = `${key} ${bucketKey}`
          unheard.set(name, (unheard.get(name) ?? 0) + (results[index]?.granted ?? 0) * cost)
        }
  }

  const connect = (process: ProcessModel): RunScript => {
    const known = new Map(owners)
    const connections = new Map<Node, Connection>()

    const connectionTo = (node: Node) => {
      const open = connections.get(node)
      if (open !== undefined && !open.destroyed) return open
      const connection = { destroyed: false }
      connections.set(node, connection)
      node.connections.push(connection)
      return connection
    }

    return (operations) =>
      new Promise((resolve, reject) => {
        const [{ key } = { key: '' }] = operations
        const tag = tagOf(key)

        const send = (node: Node, redirections: number) => {
          const over = connectionTo(node)
          const isSlow = node.condition() === 'slow'
          const travelUs = () => random.whole(50, 1_500) + (isSlow ? random.whole(0, 2 * deadlineUs) : 0)
          const fail = (message: string) => process.receive(() => reject(new Error(message)))
          const answer = (end: () => void, lost = () => {}) =>
            void time.afterUs(travelUs(), () => {
              if (!over.destroyed) return process.receive(end)
              lost()
              fail('read ECONNRESET')
            })
          const breakOff = (message: string) => {
            over.destroyed = true
            fail(message)
          }
          const giveUp = () => void time.afterUs(SOCKET_TIMEOUT_US, () => breakOff('Socket timeout'))

          const redirect = (owner: Node) => {
            if (redirections === MAX_REDIRECTIONS)
              return answer(() => reject(new Error('Too many Cluster redirections')))
            known.set(tag, owner)
            return answer(() => send(owner, redirections + 1))
          }

          const execute = () => {
            if (over.destroyed) return fail('read ECONNRESET')
            const owner = ownerOf(tag)
            if (owner !== node) return redirect(owner)
            if (moving.has(tag) && operations.some((operation) => operation.key !== key))
              return answer(() => reject(new Error('TRYAGAIN Multiple keys request during rehashing of slot')))
            // Of one attempt, whatever testimony it carries.
            const attempt = operations[0]?.buckets ?? operations
            if (areChecksNew && attempts.has(attempt)) repeated += 1
            attempts.add(attempt)
            const nowUs = node.clockUs()
            const results = operations.map((operation) => node.redis.run(operation, nowUs))
            const noteLost = () => noteUnheard(operations, results)
            switch (node.condition()) {
              case 'cut':
                noteLost()
                return void time.afterUs(travelUs(), () => breakOff('read ECONNRESET'))
              case 'mute':
                noteLost()
                return giveUp()
              default:
                return answer(() => resolve({ droppedBuckets: 0, results, lineage: over }), noteLost)
            }
          }

          time.afterUs(travelUs(), () => {
            switch (node.condition()) {
              case 'deaf':
                return giveUp()
              case 'refusing':
                return answer(() => reject(new Error('CLUSTERDOWN The cluster is down')))
              case 'stalled':
                return void node.stalled.push(execute)
              case 'well':
              case 'slow':
              case 'mute':
              case 'cut':
                return execute()
            }
          })
        }

        send(known.get(tag) ?? first, 0)
      })
  }

  return {
    nodes: [first, ...nodes.slice(1)],
    connect,
    charged,
    unheard,
    repeated: () => repeated,
    move: (tag) => {
      moving.add(tag)
      return () => {
        if (!moving.delete(tag)) return
        const from = ownerOf(tag)
        const to = nodes[(nodes.indexOf(from) + 1) % nodes.length] ?? first
        to.redis.takeOver(from.redis.handOver((key) => tagOf(key) === tag))
        owners.set(tag, to)
      }
    },
  }
}
