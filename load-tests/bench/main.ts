// What does a check cost, beside its peers?   npm run bench
//   -- --quick            a short run of the ways alone       --rounds N           5 unless said
//   -- --part PART        checks, spread, arrivals, shards, metrics, api, bytes, memory: as often as wanted, all unless said
//   -- --only WAY, --at CONCURRENCY                           some of them, as often as wanted
//   -- --json FILE        writes all figures; load-tests/bench/publish.ts makes the README's tables and chart of them
//   -- --profile FOLDER   leaves the limiter's CPU profile there
// Starts a Redis, a limiter and, if ENVOY_RATELIMIT names its program, envoyproxy/ratelimit; asks 1,000 clients' checks in each way in turn, round
// by round; prints medians, and which goals of the design they meet. Read the ratios: the times are this machine's.
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { formatFigures, formatGoals } from './format.ts'
import { judge } from './goals.ts'
import { type Installation, startInstallation, startSharded } from './installation.ts'
import { type Load, loads, type Part, partNames } from './loads.ts'
import { startMeasuring } from './measure.ts'
import { type Measurement, type Row, summarize } from './measurement.ts'
import { median } from './median.ts'
import type { Results } from './results.ts'
import { runProgram } from './run-program.ts'
import { wayNames } from './ways.ts'

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean' },
    rounds: { type: 'string' },
    json: { type: 'string' },
    part: { type: 'string', multiple: true },
    only: { type: 'string', multiple: true },
    at: { type: 'string', multiple: true },
    profile: { type: 'string' },
  },
})
const { only, at, quick, profile } = values
const isPartial = [only, at, profile].some((option) => option !== undefined)
const usualParts: readonly Part[] = isPartial ? ['checks'] : quick ? ['checks', 'spread', 'arrivals'] : partNames
const parts = partNames.filter((part) => values.part?.includes(part) ?? usualParts.includes(part))
const rounds = Number(values.rounds ?? (quick ? 3 : 5))
const times = quick ? { warmUpMs: 400, measureMs: 1_000 } : { warmUpMs: 500, measureMs: 2_000 }

const cases = loads
  .filter(
    ({ part, pace }) => parts.includes(part) && (pace.kind === 'arrivals' || (at?.includes(`${pace.askers}`) ?? true)),
  )
  .flatMap((load) => load.ways.filter((way) => only?.includes(way) ?? true).map((way) => ({ load, way })))
if (cases.length === 0 && parts.every((part) => loads.some((load) => load.part === part)))
  throw new Error(
    `nothing to run: --part is one of ${partNames.join(', ')}, --at of 1, 64, 256, and --only of ${wayNames.map((way) => JSON.stringify(way)).join(', ')}`,
  )

const say = (text: string) => process.stderr.write(`${text}\n`)

const measureAll = async (): Promise<readonly Row[]> => {
  if (cases.length === 0) return []
  await using started = new AsyncDisposableStack()
  const shared = started.use(
    await startInstallation(
      process.env['ENVOY_RATELIMIT'],
      profile === undefined ? {} : { NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profile}` },
    ),
  )
  const sharded = new Map<number, Installation>()
  for (const shards of new Set(cases.flatMap(({ load }) => load.shards ?? [])))
    sharded.set(shards, started.use(await startSharded(shards)))
  const installationOf = ({ shards }: Load) => (shards === undefined ? shared : (sharded.get(shards) ?? shared))
  using measuring = startMeasuring(times)
  const measurements: Measurement[] = []
  for (let round = 1; round <= rounds; round += 1)
    for (const { load, way } of cases) {
      const measured = await measuring.measure(installationOf(load), load, way)
      if (measured !== undefined) measurements.push(measured)
      say(`round ${round} of ${rounds}, ${load.name}: ${way}`)
    }
  return summarize(measurements)
}

/** Programs of their own, by the part of the results that they write. */
const programs = {
  metrics: 'bench/metrics-cost.ts',
  api: 'api-throughput.ts',
  bytes: 'memory-per-bucket.ts',
  memory: 'bounded-memory.ts',
} as const satisfies Partial<Record<Part, string>>

const save = async (results: Results) => {
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, undefined, 2)}\n`)
}

const rows = await measureAll()
let results: Results = {
  runs: [
    {
      date: new Date().toISOString(),
      command: ['npm run bench --', ...process.argv.slice(2)].join(' '),
      ...(rows.length > 0 && { othersPart: median(rows.map(({ othersPart }) => othersPart)) }),
      machine: {
        cpu: cpus()[0]?.model ?? 'unknown',
        cores: availableParallelism(),
        node: process.version,
        redis: /v=(\S+)/.exec(execFileSync('redis-server', ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown',
      },
    },
  ],
  rows,
}
await save(results)
for (const part of ['metrics', 'api', 'bytes', 'memory'] as const) {
  if (!parts.includes(part)) continue
  results = { ...results, [part]: await runProgram(programs[part], quick && part === 'api' ? ['--quick'] : []) }
  // What is there is kept, should the next one fail.
  await save(results)
}

const goals = judge(results)
process.stdout.write(`${formatFigures(results)}\n\n${formatGoals(goals)}\n`)
if (parts.length === partNames.length)
  for (const { goal } of goals.filter(({ isMet }) => isMet === undefined))
    process.stdout.write(`NOT MEASURED: ${goal}\n`)
if (rows.length > 0 && !rows.some(({ way }) => way === 'envoyproxy/ratelimit') && only === undefined)
  process.stdout.write('NOT RUN: envoyproxy/ratelimit (ENVOY_RATELIMIT does not name its program)\n')
const emptied = loads.filter(({ spread }) => spread === 'empty').map(({ name }) => name)
const wrong = rows.filter(
  ({ local, failed, refused, load }) => local + failed > 0 || (refused > 0 && !emptied.includes(load)),
)
if (wrong.length > 0) {
  const told = wrong.map(({ load, way, local, failed, refused }) => `${way}, ${load}: ${local}, ${failed}, ${refused}`)
  process.stdout.write(`Decided without the store, failed, refused though there was enough:\n${told.join('\n')}\n`)
  process.exitCode = 1
}
