import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import type { GroupKey } from '../core/store.ts'
import type { Witnesses } from '../witness/witnesses.ts'
import { type Answered, createShard, type Question } from './shard.ts'
import type { RunScript } from './shard-queue.ts'
import type { Shards } from './shards.ts'
import { createWitnessedRun } from './witnessed-run.ts'

export type Ask = {
  /** Runs one operation on the shard that holds the group. */
  readonly ask: (group: GroupKey, question: Question, deadlineUs: number) => Promise<Answered>
  /** False while the group's shard is given up. */
  readonly isAnswering: (group: GroupKey) => boolean
}

export type AskOptions = {
  readonly shards: Shards
  readonly run: RunScript
  /** Absent: replies are believed as they come. */
  readonly witnesses?: Witnesses | undefined
  readonly timers: Timers
  readonly randomness: Randomness
  readonly monotonicUs: () => number
  /** Told how many shards are given up, whenever that changes. */
  readonly onGivenUp?: (shards: number) => void
}

export const createAsk = ({ shards, run, witnesses, onGivenUp, ...options }: AskOptions): Ask => {
  let givenUp = 0
  const onChange = (state: 'open' | 'closed') => {
    givenUp += state === 'open' ? 1 : -1
    onGivenUp?.(givenUp)
  }
  const { monotonicUs } = options
  const runOfShard = () => (witnesses === undefined ? run : createWitnessedRun({ run, witnesses, monotonicUs }))
  const all = Array.from({ length: shards.count }, () => createShard({ ...options, run: runOfShard(), onChange }))
  const shardOf = (index: number) => {
    const shard = all[index]
    if (shard === undefined) throw new Error(`there is no shard ${index} of ${shards.count}`)
    return shard
  }
  return {
    ask: (group, question, deadlineUs) => {
      const { shard, key } = shards.place(group)
      return shardOf(shard).ask(key, question, deadlineUs)
    },
    isAnswering: (group) => shardOf(shards.place(group).shard).isAnswering(),
  }
}
