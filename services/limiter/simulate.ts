// Runs random schedules of checks and faults against the real limiter under virtual time: npm run simulate -- [COUNT] [FIRST SEED]
import { runSchedule } from './simulation/schedule.ts'

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
let excess = 0
let worst = { part: Number.NEGATIVE_INFINITY, seed: 0 }
let done = 0
for (; done < count && failed < MAX_FAILED; done += 1) {
  const seed = first + done
  const result = await runSchedule(seed)
  checks += result.checks
  decidedLocally += result.decidedLocally
  excess += Math.max(0, result.excessPart)
  if (result.excessPart > worst.part) worst = { part: result.excessPart, seed }
  if (result.violations.length > 0) {
    failed += 1
    process.stdout.write(`seed ${seed}: ${result.violations.slice(0, 3).join('; ')}\n`)
  }
  if (Date.now() - shownMs < SHOW_EVERY_MS) continue
  shownMs = Date.now()
  process.stderr.write(`\r${done} of ${count} schedules, ${failed} failed`)
}
/** Each limiter's part of a bucket is right on the whole, so a single schedule may be far over the law, but not many. */
const MAX_MEAN_EXCESS = 0.015
const MIN_SCHEDULES = 200
const isOver = done >= MIN_SCHEDULES && excess / done > MAX_MEAN_EXCESS
if (isOver) failed += 1
const seconds = (Date.now() - startMs) / 1000
process.stdout.write(
  `\n${done} schedules from seed ${first} in ${seconds.toFixed(0)} s: ${checks} checks, ${decidedLocally} decided locally; over the law by ` +
    `${((100 * excess) / done).toFixed(2)} % of a bucket on average, ${(100 * Math.max(0, worst.part)).toFixed(1)} % at worst (seed ${worst.seed})\n` +
    (isOver ? `that is more than ${100 * MAX_MEAN_EXCESS} % on average\n` : '') +
    `${done - failed} passed, ${failed} failed\n`,
)
process.exitCode = failed === 0 ? 0 : 1
