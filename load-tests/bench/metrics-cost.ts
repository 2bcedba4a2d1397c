// What do metrics and top offenders cost a limiter, for each check?   node load-tests/bench/metrics-cost.ts
// The same limiter in memory with the observer of a running one and with none, in turns; processor time, medians of the rounds.
import { domainName } from '../../services/contract/check.ts'
import { type Answer, policyName } from '../../services/contract/decision.ts'
import { createLimiter } from '../../services/limiter/core/limiter.ts'
import { createMemoryStore } from '../../services/limiter/core/memory-store.ts'
import { type Observer, silentObserver } from '../../services/limiter/core/observer.ts'
import type { PolicySets } from '../../services/limiter/core/policy.ts'
import { publishChecks } from '../../services/limiter/telemetry/check-metrics.ts'
import { observeRefusals } from '../../services/limiter/telemetry/refusals.ts'
import { createTopOffenders } from '../../services/limiter/telemetry/top-offenders.ts'
import { createMetrics } from '../../services/platform/metrics.ts'
import { systemMonotonicClock } from '../../services/seams/clock.ts'

const ROUNDS = 7
const CHECKS = 30_000
const IN_FLIGHT = 64
const CLIENTS = 1_000
const OBSERVED = 200_000
/** CPU µs of a limiter for a check on the stream at concurrency 256, as the prototype of the design had it: the least there is to compare with. */
const STREAM_CHECK_US = 11

const { monotonicUs } = systemMonotonicClock
const domain = domainName('api')
const policies: PolicySets = new Map([
  [
    domain,
    {
      domain,
      subject: 'client',
      policies: [
        {
          kind: 'counting',
          name: policyName('per-client'),
          conditions: [],
          by: ['client'],
          rule: { capacityTokens: 60, refillTokens: 5, periodS: 1 },
          overrides: [],
          mode: 'enforce',
          onStoreFailure: 'share',
        },
      ],
    },
  ],
])

const openLimiter = (observer: Observer) => {
  const store = createMemoryStore({ nowUs: monotonicUs })
  return createLimiter({ policies: () => policies, store, localStore: store, observer })
}

const top = createTopOffenders(monotonicUs())
const observed = observeRefusals({
  observer: publishChecks(createMetrics(), monotonicUs).observer,
  top,
  subjectOf: () => 'client',
  log: () => {},
  monotonicUs,
})

const nanosecondsPerCheck = async (observer: Observer) => {
  const limiter = openLimiter(observer)
  const checks = Array.from({ length: CLIENTS }, (_, client) => ({
    domain,
    attributes: new Map([['client', `user:${client}`]]),
    cost: 1,
  }))
  const start = process.cpuUsage()
  let next = 0
  const caller = async () => {
    while (next < CHECKS) {
      const check = checks[next % CLIENTS]
      next += 1
      if (check !== undefined) await limiter.shouldAllow(check)
    }
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, caller))
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1000) / CHECKS
}

/** The observer by itself, as a check calls it: one refusal in four. */
const nanosecondsOfObserver = () => {
  const checks = Array.from({ length: CLIENTS }, (_, client) => ({
    domain,
    attributes: new Map([['client', `user:${client}`]]),
  }))
  const quota = { limit: 60, remaining: 0, resetAfterMs: 1_000, refillTokens: 5, refillPeriodMs: 1_000 }
  const policy = policyName('per-client')
  const allow: Answer = { decision: { verdict: 'allow', basis: 'bucket', policy, quota }, shadows: [] }
  const deny: Answer = { decision: { verdict: 'deny', basis: 'bucket', policy, quota, retryAfterMs: 200 }, shadows: [] }
  const start = process.cpuUsage()
  for (let index = 0; index < OBSERVED; index += 1) {
    const check = checks[(index * 7) % CLIENTS]
    if (check !== undefined) observed.answered(check, index % 4 === 0 ? deny : allow, observed.asked())
  }
  const { user, system } = process.cpuUsage(start)
  return ((user + system) * 1000) / OBSERVED
}

const median = (values: readonly number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

await nanosecondsPerCheck(silentObserver)
await nanosecondsPerCheck(observed)
nanosecondsOfObserver()
const rounds: { readonly silent: number; readonly real: number; readonly observer: number }[] = []
for (let round = 0; round < ROUNDS; round += 1) {
  const silent = await nanosecondsPerCheck(silentObserver)
  const real = await nanosecondsPerCheck(observed)
  rounds.push({ silent, real, observer: nanosecondsOfObserver() })
}
const cost = median(rounds.map(({ observer }) => observer))
console.table({
  'core and memory store alone, ns a check': Math.round(median(rounds.map(({ silent }) => silent))),
  'with metrics and top offenders, ns a check': Math.round(median(rounds.map(({ real }) => real))),
  'difference of the two in a round, ns a check': Math.round(median(rounds.map(({ silent, real }) => real - silent))),
  'metrics and top offenders by themselves, ns a check': Math.round(cost),
  [`of a check on the stream (${STREAM_CHECK_US} µs of the limiter), %`]: Number(
    (cost / STREAM_CHECK_US / 10).toFixed(1),
  ),
})
