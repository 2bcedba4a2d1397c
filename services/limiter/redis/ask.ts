import type { Timers } from '../../seams/timers.ts'
import type { AskedBucket, GroupKey } from '../core/store.ts'
import { type Replayed, replay } from './replay.ts'
import { createShardQueue, type RunScript } from './shard-queue.ts'
import type { Shards } from './shards.ts'
import type { ScriptOperation } from './take-script.ts'

export type Question = Pick<ScriptOperation, 'kind' | 'cost' | 'requestId'> & {
  readonly buckets: readonly AskedBucket[]
}

export type Answered = { readonly ok: true; readonly value: Replayed } | { readonly ok: false }

/** Runs one operation on the shard of the group; not ok when the shard fails or has not answered at the deadline. */
export type Ask = (group: GroupKey, question: Question, deadlineUs: number) => Promise<Answered>

type Options = {
  readonly shards: Shards
  readonly run: RunScript
  readonly timers: Timers
  readonly monotonicUs: () => number
}

export const createAsk = ({ shards, run, timers, monotonicUs }: Options): Ask => {
  const queues = Array.from({ length: shards.count }, () => createShardQueue(run))

  return (group, question, deadlineUs) =>
    new Promise((resolve) => {
      const { shard, key } = shards.place(group)
      const { buckets, cost } = question
      const withdraw = queues[shard]?.add({
        operation: { ...question, key },
        settle: (outcome) => {
          cancelTimer()
          resolve(
            outcome.ok ? { ok: true, value: replay(buckets, cost, outcome.result, outcome.place) } : { ok: false },
          )
        },
      })
      const cancelTimer = timers.after(Math.max(0, (deadlineUs - monotonicUs()) / 1000), () => {
        // What has arrived in the socket's buffer while the loop was busy still counts.
        timers.afterPoll(() => {
          withdraw?.()
          resolve({ ok: false })
        })
      })
    })
}
