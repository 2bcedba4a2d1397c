import { type Charged, createRedisModel, type ModelState } from './redis-model.ts'
import type { VirtualTime } from './virtual-time.ts'

/**
 * `stalled`: what arrives is run when it is over. `deaf`: it is never run. `mute`: it is run, and the reply is lost. `refusing`: an
 * error says that nothing was run. `cut`: it is run, and the connection ends instead of a reply. `slow`: it takes longer than a
 * limiter waits.
 */
export type NodeCondition = 'well' | 'stalled' | 'deaf' | 'mute' | 'cut' | 'refusing' | 'slow'

/** A primary, and its clock. */
export type NodeModel = {
  readonly setCondition: (condition: NodeCondition) => void
  readonly snapshot: () => ModelState
  /** Another takes its place, which never heard of what was written after the snapshot; without one it comes back empty. */
  readonly lose: (snapshot: ModelState | undefined) => void
  /** Everything is deleted, or evicted, and every connection stays. */
  readonly flush: () => void
  /** Its clock is set forward, or back. */
  readonly step: (us: number) => void
  readonly clockUs: () => number
}

/** A limiter's, to a node. */
export type Connection = { destroyed: boolean }
/** A primary as the cluster has it. */
export type Node = NodeModel & {
  readonly redis: ReturnType<typeof createRedisModel>
  readonly condition: () => NodeCondition
  readonly stalled: (() => void)[]
  readonly connections: Connection[]
}

export const createNode = (time: VirtualTime, charged: Charged): Node => {
  const redis = createRedisModel(charged)
  let condition: NodeCondition = 'well'
  let aheadUs = 0
  const stalled: (() => void)[] = []
  const connections: Connection[] = []
  return {
    redis,
    stalled,
    connections,
    condition: () => condition,
    clockUs: () => time.nowUs() + aheadUs,
    step: (us) => {
      aheadUs += us
    },
    setCondition: (next) => {
      condition = next
      if (next !== 'stalled') for (const execute of stalled.splice(0)) execute()
    },
    snapshot: redis.snapshot,
    flush: () => redis.become(new Map()),
    lose: (snapshot) => {
      redis.become(snapshot ?? new Map())
      for (const connection of connections.splice(0)) connection.destroyed = true
    },
  }
}
