import type { ClientKind } from './policies.ts'

/** What a scenario needs of an installation that is made for it alone. */
export type LocalPlan = {
  /** The first is `API_KEY`; all are `API_KEYS`. */
  readonly clients: readonly { readonly kind: ClientKind; readonly count: number }[]
  readonly replicas: number
  /** Redis nodes behind each of the three primaries. */
  readonly redisReplicas: 0 | 1
  /**
   * `patient`: everything waits for seconds, so that a busy machine is not taken for a fault and every decision is the bucket's.
   * `prompt`: near what production has, for runs about time and outages.
   */
  readonly deadlines: 'patient' | 'prompt'
  /** In words, for who asks what a run does. */
  readonly question: string
}

const usual = {
  clients: [{ kind: 'hot', count: 1 }],
  replicas: 3,
  redisReplicas: 0,
  deadlines: 'patient',
} as const satisfies Partial<LocalPlan>

export const localPlans = {
  smoke: {
    ...usual,
    clients: [{ kind: 'waiting', count: 1 }],
    replicas: 2,
    question: 'does the installation answer, count down, refuse and say when to come back?',
  },
  accuracy: { ...usual, question: 'many callers, one bucket, all replicas: exactly what one bucket holds?' },
  'accuracy-scaling': { ...usual, replicas: 2, question: 'the same while replicas go 2 → 5 → 1' },
  'retry-after': {
    ...usual,
    clients: [{ kind: 'waiting', count: 20 }],
    replicas: 2,
    question: 'are clients that wait as told let in?',
  },
  load: {
    ...usual,
    clients: [{ kind: 'plenty', count: 20 }],
    question: 'a steady rate below all limits: is everybody served, and how fast?',
  },
  spike: { ...usual, question: 'traffic jumps tenfold: all answered, the count exact, as fast as before after it?' },
  soak: {
    ...usual,
    clients: [{ kind: 'plenty', count: 20 }],
    replicas: 2,
    question: 'a long time: does memory stay flat?',
  },
  outage: { ...usual, deadlines: 'prompt', question: 'the store gone for 20 s: all answered, and how much too much?' },
  failover: {
    ...usual,
    redisReplicas: 1,
    deadlines: 'prompt',
    question: 'the primary of the bucket killed: all answered, and how much too much?',
  },
  fairness: {
    ...usual,
    clients: [
      { kind: 'abuser', count: 1 },
      { kind: 'polite', count: 10 },
    ],
    question: 'an abuser beside polite clients: do these notice?',
  },
  grpc: { ...usual, question: 'the limiters asked directly by gRPC: the count exact?' },
  'grpc-stream': {
    ...usual,
    question: 'the limiters asked by frames on streams: each answered once, the count exact?',
  },
} as const satisfies Readonly<Record<string, LocalPlan>>

export type ScenarioName = keyof typeof localPlans

export const isScenarioName = (text: string): text is ScenarioName => Object.hasOwn(localPlans, text)
