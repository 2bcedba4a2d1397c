import type { Span, Tracing } from '../../tracing/tracing.ts'
import type { AskedBucket } from '../core/store.ts'
import { fateOf, type LostFate } from './not-run.ts'
import type { OperationResult, ScriptOperation, ScriptReply } from './take-script.ts'
import { traceCall } from './trace-call.ts'

/** Operations in one call of the script, however many equal takes each stands for; the rest wait for the next. */
const MAX_OPERATIONS = 128

/** Runs the script once, on all operations or, where they are much work, the first of them; rejects when it did not run or nobody knows. */
export type RunScript = (operations: readonly ScriptOperation[]) => Promise<ScriptReply>

/** A take or reset that waits for the lane, and what it is told. */
export type Queued = {
  readonly operation: Omit<ScriptOperation, 'times'>
  /** Of whoever asks, if that is traced. */
  readonly span: Span | undefined
  /** What the script found, and this one's place among the equal takes that it was merged with, from 0. */
  readonly settle: (
    outcome:
      | { readonly ok: true; readonly result: OperationResult; readonly place: number }
      // `isFirst`: of those that went down with one call.
      | { readonly ok: false; readonly fate: LostFate; readonly isFirst: boolean },
  ) => void
}

export type LaneQueue = {
  readonly add: (queued: Queued) => void
  /** Nobody waits for it any more. True: it has not been sent, and is told nothing. */
  readonly withdraw: (queued: Queued) => boolean
}

/**
 * One lane's takes. Exactly one call is under way; what arrives meanwhile leaves with the next: batches form by themselves, without
 * a timer, and a lone take leaves in its own tick. A batch means the same as its takes one after the other, as they arrived.
 */
export const createLaneQueue = (run: RunScript, tracing?: Tracing): LaneQueue => {
  const waiting: Queued[] = []
  const abandoned = new WeakSet<Queued>()
  let underWay = false
  let scheduled = false
  /** As many as the last call came to; what it did not come to should not be sent again and again. */
  let most = MAX_OPERATIONS

  const flush = async () => {
    scheduled = false
    while (waiting.length > 0) {
      underWay = true
      const batch = takeBatch(waiting, most)
      const unserved = await send(batch, run, tracing)
      most = unserved.length > 0 ? batch.length - unserved.length : Math.min(most * 2, MAX_OPERATIONS)
      putBack(unserved.flatMap(({ members }) => members))
    }
    underWay = false
  }

  /** What has not run is first in the next call, but for what nobody waits for any more. */
  const putBack = (unserved: readonly Queued[]) => {
    waiting.unshift(...unserved.filter((queued) => !abandoned.has(queued)))
    for (const queued of unserved)
      if (abandoned.has(queued)) queued.settle({ ok: false, fate: 'not_run', isFirst: false })
  }

  return {
    add: (queued) => {
      waiting.push(queued)
      if (!underWay && !scheduled) {
        scheduled = true
        // What else this tick asks leaves in the same call.
        queueMicrotask(() => void flush())
      }
    },
    withdraw: (queued) => {
      const index = waiting.indexOf(queued)
      if (index >= 0) waiting.splice(index, 1)
      else abandoned.add(queued)
      return index >= 0
    },
  }
}

type Merged = { readonly first: Queued; readonly members: Queued[] }

/** Takes out what is first. Equal takes that follow each other become one; others between them would change what they find. */
const takeBatch = (waiting: Queued[], most: number): readonly Merged[] => {
  const batch: Merged[] = []
  let taken = 0
  for (const queued of waiting) {
    const last = batch.at(-1)
    if (last !== undefined && isSame(last.first, queued)) last.members.push(queued)
    else if (batch.length < most) batch.push({ first: queued, members: [queued] })
    else break
    taken += 1
  }
  waiting.splice(0, taken)
  return batch
}

const isSame = ({ operation: a }: Queued, { operation: b }: Queued) =>
  a.kind === 'take' &&
  a.requestId === undefined &&
  b.requestId === undefined &&
  b.kind === 'take' &&
  a.key === b.key &&
  a.cost === b.cost &&
  haveSameBuckets(a.buckets, b.buckets)

const haveSameBuckets = (a: readonly AskedBucket[], b: readonly AskedBucket[]) =>
  a.length === b.length &&
  a.every((one, index) => {
    const other = b[index]
    return one.key === other?.key && one.rule === other.rule && one.enforced === other.enforced
  })

/** Tells what came of a call; returns those that it did not come to. */
const send = async (batch: readonly Merged[], run: RunScript, tracing: Tracing | undefined) => {
  const operations = batch.map(({ first, members }) => ({ ...first.operation, times: members.length }))
  let fate: LostFate = 'unknown'
  const span = tracing === undefined ? undefined : traceCall(tracing, batch)
  const reply = await run(operations).catch((error: unknown) => {
    fate = fateOf(error)
  })
  span?.end(reply === undefined ? fate : undefined)
  // The script always comes to the first; were that put back, a reply that tells of none would be asked for without an end.
  const served = Math.max(1, reply?.results.length ?? batch.length)
  let isFirst = true
  batch.slice(0, served).forEach(({ members }, index) => {
    const result = reply?.results[index]
    members.forEach(({ settle }, place) => {
      settle(
        result === undefined
          ? { ok: false, fate: reply?.fates?.[index] ?? fate, isFirst }
          : { ok: true, result, place },
      )
      isFirst &&= result !== undefined
    })
  })
  return batch.slice(served)
}
