// A thread of `simulate.ts`: runs every n-th schedule and tells what came of each.
import { parentPort, workerData } from 'node:worker_threads'
import { runSchedule } from './schedule.ts'

/** Seeds from the first on, each so much greater than the last. */
export type Order = { readonly first: number; readonly step: number; readonly count: number }

const { first, step, count }: Order = workerData
for (let index = 0; index < count; index += 1) parentPort?.postMessage(await runSchedule(first + index * step))
