import type { Check, ParsedCheck } from '../../contract/check.ts'
import { createLimiter, type Limiter } from '../../limiter/core/limiter.ts'
import { silentObserver } from '../../limiter/core/observer.ts'
import type { PolicySets } from '../../limiter/core/policy.ts'
import type { RunScript } from '../../limiter/redis/lane-queue.ts'
import { createRedisStore } from '../../limiter/redis/redis-store.ts'
import { retryNotRun } from '../../limiter/redis/retry-not-run.ts'
import type { Shards } from '../../limiter/redis/shards.ts'
import { ruleHash } from '../../limiter/redis/take-script.ts'
import { createSharingStore, type SharingStats } from '../../limiter/share/sharing-store.ts'
import { createWitnesses, type WitnessStats } from '../../limiter/witness/witnesses.ts'
import { decodeCheckFrame, idAfter } from '../../wire/check-frame.ts'
import { encodeDecisionFrames, encodeDrainingFrame, type StreamDecision } from '../../wire/decision-frame.ts'
import { type ClusterModel, tagOf } from './cluster-model.ts'
import type { Accepted, Server } from './network-model.ts'
import { createProcessModel, type ProcessModel } from './process-model.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** gRPC's INTERNAL and INVALID_ARGUMENT. */
const [INTERNAL, INVALID_ARGUMENT] = [13, 3]

/** The limiter's own code in a process of its own; only Redis, the sockets and the time are models. */
export type LimiterModel = {
  readonly process: ProcessModel
  readonly limiter: Limiter
  readonly server: Server
  /** Tells everybody to ask elsewhere, and answers what it has been asked. */
  readonly drain: () => void
  /** Calls of a shard that were under way beside another of the same. */
  readonly crowded: () => number
  readonly sharing: () => SharingStats
  /** Absent: nobody looks for lost writes. */
  readonly witnessed: (() => WitnessStats) | undefined
}

type Options = {
  readonly time: VirtualTime
  readonly random: Random
  readonly cluster: ClusterModel
  readonly shards: Shards
  readonly policies: () => PolicySets
  readonly replicas: () => number
  readonly deadlineMs: number
  readonly isWitnessing: boolean
  /** How a check is asked for; `question`: the number that came with it. */
  readonly decide: (limiter: Limiter, check: Check, question: number | undefined) => ReturnType<Limiter['shouldAllow']>
}

export const openLimiterModel = ({
  time,
  random,
  cluster,
  shards,
  policies,
  replicas,
  deadlineMs,
  isWitnessing,
  decide,
}: Options): LimiterModel => {
  const process = createProcessModel(time, random)
  const { timers, monotonicUs } = process
  const seams = { timers, randomness: random.next, monotonicUs }
  const witnesses = isWitnessing ? createWitnesses({ monotonicUs, ruleHash }) : undefined
  const underWay = new Set<string>()
  let crowded = 0
  const execute = cluster.connect(process)
  const patient = retryNotRun({ execute, retryMs: deadlineMs, timers, monotonicUs })
  const run: RunScript = async (operations) => {
    const tag = tagOf(operations[0]?.key ?? '')
    if (underWay.has(tag)) crowded += 1
    underWay.add(tag)
    try {
      return await patient(operations)
    } finally {
      underWay.delete(tag)
    }
  }
  const remote = createRedisStore({ ...seams, shards, witnesses, run, deadlineMs })
  const sharing = createSharingStore({ ...seams, remote, replicas })
  const limiter = createLimiter({ policies, store: sharing.store, localStore: sharing.local, observer: silentObserver })

  const decideParsed = async (
    id: number,
    parsed: ParsedCheck,
    question: number | undefined,
  ): Promise<StreamDecision> => {
    if (!parsed.ok) return { id, ok: false, code: INVALID_ARGUMENT, message: 'no check' }
    const checked = await decide(limiter, parsed.check, question)
    return checked.ok
      ? { id, ok: true, answer: checked.answer }
      : { id, ok: false, code: INTERNAL, message: 'no answer' }
  }

  const streams = new Set<() => void>()
  const accept = (connection: Accepted) => {
    let decided: StreamDecision[] = []
    let unanswered = 0
    let isFinishing = false
    let isClosed = false
    const flush = () => {
      const leaving = decided
      decided = []
      unanswered -= leaving.length
      if (isClosed) return
      for (const frame of encodeDecisionFrames(leaving)) connection.send(frame)
      endIfDone()
    }
    const endIfDone = () => {
      if (isFinishing && unanswered === 0 && !isClosed) connection.end('OK')
    }
    const drain = () => connection.send(encodeDrainingFrame())
    streams.add(drain)
    return {
      onMessage: (message: Buffer) => {
        const frame = decodeCheckFrame(message)
        if (!frame.ok) return connection.end(frame.problem)
        unanswered += frame.checks.length
        for (const [index, parsed] of frame.checks.entries()) {
          const question = frame.traces?.get(index)
          const number = question && Number.parseInt(question.traceId, 16)
          void decideParsed(idAfter(frame.firstId, index), parsed, number).then((decision) => {
            decided.push(decision)
            // Those of one turn of the event loop leave together.
            if (decided.length === 1) timers.afterPoll(flush)
          })
        }
      },
      onFinish: () => {
        isFinishing = true
        endIfDone()
      },
      onClose: () => {
        isClosed = true
        streams.delete(drain)
      },
    }
  }

  return {
    process,
    limiter,
    server: { process, accept },
    drain: () => {
      for (const drain of streams) drain()
    },
    crowded: () => crowded,
    sharing: sharing.stats,
    witnessed: witnesses?.stats,
  }
}
