import type { Randomness } from '../../seams/randomness.ts'
import type { Timers } from '../../seams/timers.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import type { GroupKey } from '../core/store.ts'
import type { Witnesses } from '../witness/witnesses.ts'
import { type Answered, createLane, type Question } from './lane.ts'
import type { RunScript } from './lane-queue.ts'
import type { Placed, Shards } from './shards.ts'
import { createWitnessedRun } from './witnessed-run.ts'

export type Ask = {
  /** Runs one operation on the shard that holds the group. */
  readonly ask: (placed: Placed, question: Question, deadlineUs: number) => Promise<Answered>
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
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

export const createAsk = ({ shards, run, witnesses, onGivenUp, ...options }: AskOptions): Ask => {
  let givenUp = 0
  const onChangeOf = (lane: number) => (state: 'open' | 'closed') => {
    const ofLane = Math.ceil((shards.count - lane) / shards.lanes)
    givenUp += state === 'open' ? ofLane : -ofLane
    onGivenUp?.(givenUp)
  }
  const { monotonicUs } = options
  const runOfLane = () => (witnesses === undefined ? run : createWitnessedRun({ run, witnesses, monotonicUs }))
  const all = Array.from({ length: shards.lanes }, (_, lane) =>
    createLane({ ...options, run: runOfLane(), onChange: onChangeOf(lane) }),
  )
  const laneOf = (index: number) => {
    const lane = all[index]
    if (lane === undefined) throw new Error(`there is no lane ${index} of ${shards.lanes}`)
    return lane
  }
  return {
    ask: ({ lane, key }, question, deadlineUs) => laneOf(lane).ask(key, question, deadlineUs),
    isAnswering: (group) => laneOf(shards.place(group).lane).isAnswering(),
  }
}
