/** Callers come at a rate of their own, however slow the answers are: what waits for answers before it asks measures itself. */
type Steady = {
  readonly exec: string
  readonly ratePerS: number
  readonly durationS: number
  readonly startS?: number
}

export const steady = ({ exec, ratePerS, durationS, startS = 0 }: Steady) => ({
  executor: 'constant-arrival-rate' as const,
  exec,
  rate: ratePerS,
  timeUnit: '1s',
  startTime: `${startS}s`,
  duration: `${durationS}s`,
  preAllocatedVUs: callersFor(ratePerS),
  maxVUs: 4 * callersFor(ratePerS),
  gracefulStop: '15s',
})

/** Enough for answers that take a second; k6 makes more, at a price, when they take longer. */
const callersFor = (ratePerS: number) => Math.max(20, Math.ceil(ratePerS))

/** One caller that makes the faults, one after the other. */
export const faultClock = (exec: string) => ({
  executor: 'per-vu-iterations' as const,
  exec,
  vus: 1,
  iterations: 1,
  maxDuration: '15m',
})
