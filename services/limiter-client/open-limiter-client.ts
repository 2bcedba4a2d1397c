import { systemMonotonicClock } from '../seams/clock.ts'
import { systemRandomness } from '../seams/randomness.ts'
import { systemTimers } from '../seams/timers.ts'
import { type ClientObserver, createLimiterClient, type LimiterClient } from './client.ts'
import type { FallbackPlan } from './fallback.ts'
import type { ReplicaObserver } from './replicas/replica-set.ts'
import { createStreamTransport, type StreamTransport, type TransportOptions } from './replicas/stream-transport.ts'

const DEFAULT_FALLBACK: FallbackPlan = { kind: 'local', rule: { capacityTokens: 50, refillTokens: 10, periodS: 1 } }

const DEFAULT_DEADLINE_MS = 50
const LEAST_PATIENCE_MS = 1_000

/** Told of everything that a metric or a log may want to know. Never throws. */
export type LimiterObserver = ClientObserver & ReplicaObserver

type Options = Pick<TransportOptions, 'address' | 'tls' | 'affinity' | 'traceContext'> & {
  /** 50 unless said. */
  readonly deadlineMs?: number
  /** What decides when no limiter answers: a bucket of 50 and 10/s for each client unless said. */
  readonly fallback?: FallbackPlan
  readonly rememberRefusals?: boolean
  readonly maxWaiting?: number
  readonly observe?: LimiterObserver | undefined
}

export type ConnectedLimiterClient = LimiterClient & {
  /** How many limiters the address stands for, by how they are reached now. */
  readonly countReplicas: StreamTransport['count']
}

/** The client with this machine's clock, timers and names. */
export const openLimiterClient = ({
  address,
  tls,
  affinity,
  deadlineMs = DEFAULT_DEADLINE_MS,
  fallback = DEFAULT_FALLBACK,
  observe,
  traceContext,
  ...options
}: Options): ConnectedLimiterClient => {
  const transport = createStreamTransport({
    address,
    tls,
    observe,
    traceContext,
    // Whoever waits for long must not take a limiter for dead that still waits for its store; the other half is for another limiter.
    patienceMs: Math.max(LEAST_PATIENCE_MS, deadlineMs / 2),
    ...(affinity !== undefined && { affinity }),
  })
  const client = createLimiterClient({
    ...options,
    deadlineMs,
    fallback,
    transport,
    monotonicClock: systemMonotonicClock,
    timers: systemTimers,
    randomness: systemRandomness,
    ...(observe !== undefined && { observe }),
  })
  return { ...client, countReplicas: transport.count }
}
