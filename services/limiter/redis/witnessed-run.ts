import type { AskedBucket } from '../core/store.ts'
import type { Lineage, Witnesses } from '../witness/witnesses.ts'
import type { RunScript } from './lane-queue.ts'
import type { OperationResult, ScriptOperation, ScriptReply } from './take-script.ts'

type Options = {
  readonly run: RunScript
  readonly witnesses: Witnesses
  readonly monotonicUs: () => number
}

type Lost = { readonly operation: ScriptOperation; readonly buckets: readonly AskedBucket[] }

/**
 * One shard's calls of the script, each reply verified against what this limiter has seen. After a change of the shard's primary or
 * connection the first take of each bucket carries that along; where a reply shows that writes were lost, the store is told again
 * before anything else is asked of the shard.
 */
export const createWitnessedRun = ({ run, witnesses, monotonicUs }: Options): RunScript => {
  let lineage: Lineage | undefined
  // Before that everything was learned over the one lineage.
  let hasChanged = false
  let teaching: Promise<unknown> | undefined

  const runOnce = async (operations: readonly ScriptOperation[]) => {
    const sentUs = monotonicUs()
    const over = isUp(lineage) ? lineage : undefined
    const told = operations.map((operation) => {
      if (!hasChanged && over !== undefined) return operation
      const testimonies = witnesses.testify(operation.buckets, over, sentUs)
      return testimonies === undefined ? operation : { ...operation, testimonies }
    })
    const reply = await run(told).catch((error: unknown) => {
      lineage = undefined
      hasChanged = true
      throw error
    })
    if (reply.lineage === undefined || (lineage !== undefined && lineage !== reply.lineage)) hasChanged = true
    lineage = reply.lineage
    const span = { sentUs, receivedUs: monotonicUs() }
    const lost: Lost[] = []
    const learn = (result: OperationResult | undefined, index: number) => {
      const operation = told[index]
      if (result === undefined || operation === undefined) return undefined
      const learned = witnesses.learn(operation, result, span, reply.lineage)
      if (learned === undefined) return result
      hasChanged = true
      lost.push({ operation, buckets: learned.lost })
      return learned.result
    }
    return { reply: { ...reply, results: reply.results.map(learn) }, lost }
  }

  /** Until the script has come to all of them, or fails. */
  const teach = async (lost: readonly Lost[]) => {
    for (let left = lost.map(lookAgain); left.length > 0; ) {
      const served = await runOnce(left).then(
        ({ reply }) => reply.results.length,
        () => left.length,
      )
      left = left.slice(Math.max(1, served))
    }
    teaching = undefined
  }

  return async (operations): Promise<ScriptReply> => {
    await teaching
    const { reply, lost } = await runOnce(operations)
    if (lost.length > 0) teaching = teach(lost)
    return reply
  }
}

/** Charges nothing, and carries what is known of the buckets. */
const lookAgain = ({ operation: { key }, buckets }: Lost): ScriptOperation => ({
  kind: 'take',
  key,
  cost: 0,
  times: 1,
  buckets,
})

const isUp = (lineage: Lineage | undefined) =>
  lineage !== undefined && !('destroyed' in lineage && lineage.destroyed === true)
