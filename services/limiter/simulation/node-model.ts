import type { RunScript } from '../redis/lane-queue.ts'
import type { Random } from './random.ts'
import { type Charged, createRedisModel, type ModelState } from './redis-model.ts'
import type { VirtualTime } from './virtual-time.ts'

/** As in `limiter/redis/connect.ts`: a silent connection is given up, and so are the commands on it. */
const SOCKET_TIMEOUT_US = 2_000_000

/**
 * `stalled`: what arrives is run when it is over. `deaf`: it is never run. `mute`: it is run, and the reply is lost. `refusing`: an
 * error says that nothing was run. `cut`: it is run, and the connection ends instead of a reply. `slow`: it takes longer than a
 * limiter waits.
 */
export type Condition = 'well' | 'stalled' | 'deaf' | 'mute' | 'cut' | 'refusing' | 'slow'

export type NodeModel = {
  readonly run: RunScript
  readonly setCondition: (condition: Condition) => void
  /** Another takes its place, which never heard of what was written after the snapshot; without one it comes back empty. */
  readonly lose: (snapshot: ModelState | undefined) => void
  readonly snapshot: () => ModelState
  /** Tokens granted in replies that were lost, by bucket. */
  readonly unheard: Charged
  /** Calls that were run a second time. */
  readonly repeated: () => number
}

type Options = {
  readonly time: VirtualTime
  readonly random: Random
  readonly charged: Charged
  readonly deadlineUs: number
}

/** One primary and the way to it. */
export const createNodeModel = ({ time, random, charged, deadlineUs }: Options): NodeModel => {
  const redis = createRedisModel(charged)
  const unheard: Charged = new Map()
  let condition: Condition = 'well'
  let stalled: (() => void)[] = []
  const run = new WeakSet<object>()
  let repeated = 0
  let connection = { destroyed: false }

  const travelUs = () => random.whole(50, 1_500) + (condition === 'slow' ? random.whole(0, 2 * deadlineUs) : 0)

  return {
    unheard,
    repeated: () => repeated,
    snapshot: redis.snapshot,
    lose: (snapshot) => {
      redis.become(snapshot ?? new Map())
      connection.destroyed = true
      connection = { destroyed: false }
    },
    setCondition: (next) => {
      condition = next
      if (next === 'stalled') return
      const waiting = stalled
      stalled = []
      for (const execute of waiting) execute()
    },
    run: (operations) =>
      new Promise((resolve, reject) => {
        const over = connection
        const endWith = (end: () => void) => () => (over.destroyed ? reject(new Error('read ECONNRESET')) : end())
        const giveUp = () => time.afterUs(SOCKET_TIMEOUT_US, () => reject(new Error('Socket timeout')))
        const execute = () => {
          if (over.destroyed) return reject(new Error('read ECONNRESET'))
          // Of one attempt, whatever testimony it carries.
          const attempt = operations[0]?.buckets ?? operations
          if (run.has(attempt)) repeated += 1
          run.add(attempt)
          const isLost = condition === 'mute' || condition === 'cut'
          const results = operations.map((operation) => redis.run(operation, time.nowUs()))
          const backUs = travelUs()
          if (isLost)
            for (const [index, { key, kind, cost, buckets }] of operations.entries())
              if (kind === 'take')
                for (const { key: bucketKey } of buckets) {
                  const name = `${key} ${bucketKey}`
                  unheard.set(name, (unheard.get(name) ?? 0) + (results[index]?.granted ?? 0) * cost)
                }
          if (condition === 'cut') time.afterUs(backUs, () => reject(new Error('read ECONNRESET')))
          else if (isLost) giveUp()
          else
            time.afterUs(
              backUs,
              endWith(() => resolve({ droppedBuckets: 0, results, lineage: over })),
            )
        }
        time.afterUs(travelUs(), () => {
          switch (condition) {
            case 'deaf':
              return giveUp()
            case 'refusing':
              return reject(new Error('CLUSTERDOWN The cluster is down'))
            case 'stalled':
              return void stalled.push(execute)
            case 'well':
            case 'slow':
            case 'mute':
            case 'cut':
              return execute()
          }
        })
      }),
  }
}
