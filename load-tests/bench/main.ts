// What does a check cost, beside its peers?   npm run bench   (-- --quick for a short one; -- --json FILE writes the figures;
// --only WAY and --at CONCURRENCY, each as often as wanted, for some of them; --profile FOLDER for the limiter's CPU profile)
// Starts a Redis, a limiter and, if ENVOY_RATELIMIT names its program, envoyproxy/ratelimit; asks 1,000 keys in each way in turn, round by
// round, and prints medians. Read the ratios: the times are this machine's.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { readCpuUs } from './cpu-time.ts'
import { startInstallation } from './installation.ts'
import type { Order, Report } from './load-client.ts'
import { formatGoals, formatTable, judge, type Measurement, summarize } from './report.ts'
import { type WayName, wayNames } from './ways.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    json: { type: 'string' },
    only: { type: 'string', multiple: true },
    at: { type: 'string', multiple: true },
    profile: { type: 'string' },
  },
})
const {
  rounds: usualRounds,
  warmUpMs,
  measureMs,
} = values.quick ? { rounds: 3, warmUpMs: 400, measureMs: 1_000 } : { rounds: 5, warmUpMs: 1_000, measureMs: 3_000 }
const { only, at } = values
const rounds = Number(values.rounds ?? usualRounds)
const CONCURRENCIES = [1, 64, 256].filter((concurrency) => at?.includes(`${concurrency}`) ?? true)
const WAYS = wayNames.filter((way) => only?.includes(way) ?? true)
if (CONCURRENCIES.length === 0 || WAYS.length === 0)
  throw new Error(
    `--at is one of 1, 64, 256, and --only one of ${wayNames.map((way) => JSON.stringify(way)).join(', ')}`,
  )
const KEYS = 1_000

await using installation = await startInstallation(
  process.env['ENVOY_RATELIMIT'],
  values.profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${values.profile}` },
)
const { addresses, pids } = installation
const client = fork(new URL('load-client.ts', import.meta.url))

const report = async (): Promise<Report> => {
  const [message] = (await once(client, 'message')) as [Report]
  return message
}

const measure = async (way: WayName, concurrency: number): Promise<Measurement | undefined> => {
  const server = way.startsWith('Weir') ? pids.limiter : way === 'envoyproxy/ratelimit' ? pids.peer : undefined
  const readAll = () => [client.pid, server, pids.redis].map((pid) => (pid === undefined ? 0 : readCpuUs(pid)))
  const order: Order = { way, addresses, concurrency, keys: KEYS, warmUpMs, measureMs }
  client.send(order)
  if ((await report()).kind === 'missing') return undefined
  const [before, startMs] = [readAll(), performance.now()]
  const done = await report()
  const [after, elapsedMs] = [readAll(), performance.now() - startMs]
  if (done.kind !== 'done' || done.checks === 0) throw new Error(`${way}: no check was answered`)
  const [clientUs = 0, limiterUs = 0, redisUs = 0] = after.map((us, index) => (us - (before[index] ?? 0)) / done.checks)
  const { checks, kind: _, ...figures } = done
  const perSecond = checks / (elapsedMs / 1000)
  return {
    way,
    concurrency,
    checksPerSecond: perSecond,
    clientUs,
    limiterUs: server === undefined ? undefined : limiterUs,
    redisUs,
    ...figures,
  }
}

const measurements: Measurement[] = []
for (let round = 1; round <= rounds; round += 1)
  for (const concurrency of CONCURRENCIES)
    for (const way of WAYS) {
      const measured = await measure(way, concurrency)
      if (measured !== undefined) measurements.push(measured)
      process.stderr.write(`round ${round} of ${rounds}, ${concurrency} at once: ${way}\n`)
    }
client.disconnect()
client.kill()

const rows = summarize(measurements)
const goals = judge(rows)
process.stdout.write(`${formatTable(rows)}\n\n${formatGoals(goals)}\n`)
if (addresses.peer === undefined)
  process.stdout.write('NOT RUN: envoyproxy/ratelimit (ENVOY_RATELIMIT does not name its program)\n')
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ rows, goals }, undefined, 2)}\n`)
const wrong = rows.filter(({ local, failed }) => local + failed > 0)
if (wrong.length > 0) {
  process.stdout.write(
    `Of these ways some checks failed or were decided without the store: ${wrong.map(({ way }) => way)}\n`,
  )
  process.exitCode = 1
}
