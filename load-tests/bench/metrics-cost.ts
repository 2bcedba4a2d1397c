// What do metrics and top offenders cost a limiter, for each check?   node load-tests/bench/metrics-cost.ts [--json FILE] [--rounds N]
// Two limiters on one Redis, asked on a stream by 256 at once: as they are, and with what counts checks and calls of the store taken out.
// In turns, first one first and then the other; the limiter's processor time. How much of it counting takes is also measured by itself,
// which moves less than the difference of two processes. Two minutes.
import { writeFile } from 'node:fs/promises'
import { parseArgs } from 'node:util'
import { domainName } from '../../services/contract/check.ts'
import { type Answer, policyName } from '../../services/contract/decision.ts'
import { publishChecks } from '../../services/limiter/telemetry/check-metrics.ts'
import { observeRefusals } from '../../services/limiter/telemetry/refusals.ts'
import { createTopOffenders } from '../../services/limiter/telemetry/top-offenders.ts'
import { createMetrics } from '../../services/platform/metrics.ts'
import { systemMonotonicClock } from '../../services/seams/clock.ts'
import { type Installation, startInstallation } from './installation.ts'
import type { Load } from './loads.ts'
import { startMeasuring } from './measure.ts'
import { median } from './median.ts'

export type MetricsCost = {
  /** Medians, of the limiter with its metrics and of the one without. */
  readonly withUs: number
  readonly withoutUs: number
  /** The median over the rounds of what the one takes more than the other, and between what half of the rounds are. */
  readonly differencePercent: readonly [low: number, middle: number, high: number]
  /** Of counting by itself, one check in four refused. */
  readonly countingUs: number
  /** Counting by itself as a part of the limiter's time. */
  readonly partPercent: number
}

const { values: options } = parseArgs({ options: { json: { type: 'string' }, rounds: { type: 'string' } } })
const ROUNDS = Number(options.rounds ?? 30)
const COUNTED = 500_000
const CLIENTS = 1_000
const load: Load = {
  name: '256 at once',
  part: 'metrics',
  pace: { kind: 'at once', askers: 256 },
  spread: 'uniform',
  ways: ['Weir, stream'],
}

const { monotonicUs } = systemMonotonicClock
const observed = observeRefusals({
  observer: publishChecks(createMetrics(), monotonicUs).observer,
  top: createTopOffenders(monotonicUs()),
  subjectOf: () => 'client',
  log: () => {},
  monotonicUs,
})
const domain = domainName('api')
const checks = Array.from({ length: CLIENTS }, (_, client) => ({
  domain,
  attributes: new Map([['client', `user:${client}`]]),
}))
const quota = { limit: 60, remaining: 0, resetAfterMs: 1_000, refillTokens: 5, refillPeriodMs: 1_000 }
const policy = policyName('per-client')
const allow: Answer = { decision: { verdict: 'allow', basis: 'bucket', policy, quota }, shadows: [] }
const deny: Answer = { decision: { verdict: 'deny', basis: 'bucket', policy, quota, retryAfterMs: 200 }, shadows: [] }

/** µs of the observer, as a check calls it. */
const measureCounting = () => {
  const start = process.cpuUsage()
  for (let index = 0; index < COUNTED; index += 1) {
    const check = checks[(index * 7) % CLIENTS]
    if (check !== undefined) observed.answered(check, index % 4 === 0 ? deny : allow, observed.asked())
  }
  const { user, system } = process.cpuUsage(start)
  return (user + system) / COUNTED
}

/** That one counts and the other does not: else nothing was compared. */
const countsChecks = async ({ admin }: Installation) =>
  /^weir_decisions_total\{/m.test(await (await fetch(`http://${admin}/metrics`)).text())

const preload = new URL('without-metrics.ts', import.meta.url)
await using counting = await startInstallation(undefined)
await using silent = await startInstallation(undefined, { NODE_OPTIONS: `--import=${preload}` })
using measuring = startMeasuring({ warmUpMs: 200, measureMs: 800 })
const limiterUs = async (installation: Installation) =>
  (await measuring.measure(installation, load, 'Weir, stream'))?.limiterUs ?? Number.NaN

for (const installation of [counting, silent]) for (let turn = 0; turn < 3; turn += 1) await limiterUs(installation)
if (!(await countsChecks(counting)) || (await countsChecks(silent))) throw new Error('the wrong limiter counts')
const rounds: { readonly withUs: number; readonly withoutUs: number }[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  const isFirst = round % 2 === 0
  const first = await limiterUs(isFirst ? counting : silent)
  const second = await limiterUs(isFirst ? silent : counting)
  rounds.push(isFirst ? { withUs: first, withoutUs: second } : { withUs: second, withoutUs: first })
  process.stderr.write(`metrics, round ${round + 1} of ${ROUNDS}\n`)
}
measureCounting()
const countingUs = median(Array.from({ length: 9 }, measureCounting))
const differences = rounds.map(({ withUs, withoutUs }) => (withUs / withoutUs - 1) * 100).toSorted((a, b) => a - b)
const quarter = (part: number) => differences[Math.floor(differences.length * part)] ?? 0
const withUs = median(rounds.map((round) => round.withUs))
const cost: MetricsCost = {
  withUs,
  withoutUs: median(rounds.map((round) => round.withoutUs)),
  differencePercent: [quarter(0.25), median(differences), quarter(0.75)],
  countingUs,
  partPercent: (countingUs / withUs) * 100,
}
console.table({
  'limiter with metrics, µs a check': cost.withUs.toFixed(2),
  'limiter without, µs a check': cost.withoutUs.toFixed(2),
  'difference in a round, %': `${cost.differencePercent[1].toFixed(1)} (half of the rounds from ${cost.differencePercent[0].toFixed(1)} to ${cost.differencePercent[2].toFixed(1)})`,
  'counting by itself, µs a check': countingUs.toFixed(3),
  'which is of the limiter’s time, %': cost.partPercent.toFixed(1),
})
if (options.json !== undefined) await writeFile(options.json, JSON.stringify(cost))
