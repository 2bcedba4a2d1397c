// Runs random schedules of checks and faults against the real limiter and client under virtual time: npm run simulate -- [COUNT] [FIRST SEED]
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { ScheduleKind, ScheduleResult } from './simulation/schedule.ts'
import type { Order } from './simulation/worker.ts'

const SHOW_EVERY_MS = 2_000
/** Then something is wrong at large, and more of it tells nothing new. */
const MAX_FAILED = 10

const [, , countText = '20000', firstText = '1'] = process.argv
const [count, first] = [Number(countText), Number(firstText)]
if (!Number.isSafeInteger(count) || count < 1 || !Number.isSafeInteger(first) || first < 0) {
  process.stderr.write('usage: npm run simulate -- [COUNT] [FIRST SEED], both whole numbers\n')
  process.exit(2)
}

const startMs = Date.now()
let shownMs = startMs
let failed = 0
let checks = 0
let decidedLocally = 0
let fallenBack = 0
/** Beyond the law, as parts of a bucket. */
const excess = { kept: { sum: 0, count: 0 }, lost: { sum: 0, count: 0 }, stepped: { sum: 0, count: 0 } }
let worst = { part: Number.NEGATIVE_INFINITY, seed: 0 }
let done = 0

const note = (result: ScheduleResult) => {
  done += 1
  checks += result.checks
  decidedLocally += result.decidedLocally
  fallenBack += result.fallenBack
  const kind = excess[result.kind]
  kind.sum += Math.max(0, result.excessPart)
  kind.count += 1
  if (result.excessPart > worst.part) worst = { part: result.excessPart, seed: result.seed }
  if (result.violations.length > 0) {
    failed += 1
    process.stdout.write(`seed ${result.seed}: ${result.violations.slice(0, 3).join('; ')}\n`)
  }
  if (Date.now() - shownMs < SHOW_EVERY_MS) return
  shownMs = Date.now()
  process.stderr.write(`\r${done} of ${count} schedules, ${failed} failed`)
}

/** Each thread has every n-th seed; a schedule is the same in whichever it runs. */
const threads = Math.min(count, availableParallelism())
const workers = Array.from({ length: threads }, (_, index) => {
  const order: Order = { first: first + index, step: threads, count: Math.ceil((count - index) / threads) }
  return new Worker(new URL('simulation/worker.ts', import.meta.url), { workerData: order })
})
const stop = () => {
  for (const worker of workers) void worker.terminate()
}
await Promise.all(
  workers.map(
    (worker) =>
      new Promise<void>((resolve) => {
        worker.on('message', (result: ScheduleResult) => {
          if (failed >= MAX_FAILED) return
          note(result)
          if (failed >= MAX_FAILED) stop()
        })
        worker.once('error', (error) => {
          failed += 1
          process.stdout.write(`a schedule broke off: ${String(error)}\n`)
        })
        worker.once('exit', () => resolve())
      }),
  ),
)
/** Each limiter's part of a bucket is right on the whole, so a single schedule may be far over the law, but not many. */
const MAX_MEAN_EXCESS = { kept: 0.01, lost: 0.025, stepped: 0.1 } as const satisfies Readonly<
  Record<ScheduleKind, number>
>
/** With fewer, one that is far over says more than all others. */
const MIN_SCHEDULES = { kept: 1_000, lost: 300, stepped: 300 } as const satisfies Readonly<Record<ScheduleKind, number>>
const KINDS: readonly ScheduleKind[] = ['kept', 'lost', 'stepped']
const meanOf = ({ sum, count: schedules }: { readonly sum: number; readonly count: number }) =>
  sum / Math.max(1, schedules)
const over = KINDS.filter(
  (kind) => excess[kind].count >= MIN_SCHEDULES[kind] && meanOf(excess[kind]) > MAX_MEAN_EXCESS[kind],
)
failed += over.length
const percent = (part: number, digits = 2) => `${(100 * part).toFixed(digits)} %`
const seconds = (Date.now() - startMs) / 1000
process.stdout.write(
  `\n${done} schedules from seed ${first} in ${seconds.toFixed(0)} s: ${checks} checks, ${decidedLocally} decided locally, ${fallenBack} by APIs; over the law, on average, by ` +
    `${percent(meanOf(excess.kept))} of a bucket, ${percent(meanOf(excess.lost))} where writes were lost, ${percent(meanOf(excess.stepped))} where clocks were set, ${percent(Math.max(0, worst.part), 1)} at worst (seed ${worst.seed})\n` +
    over.map((kind) => `that is more than ${percent(MAX_MEAN_EXCESS[kind], 1)} on average\n`).join('') +
    `${Math.max(0, done - failed)} passed, ${failed} failed\n`,
)
process.exitCode = failed === 0 ? 0 : 1
