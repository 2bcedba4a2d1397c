import type { ClientKind } from './policies.ts'

/** What a scenario needs of an installation that is made for it alone. */
export type LocalPlan = {
  /** The first is `API_KEY`; with more than one, all are `API_KEYS`. */
  readonly clients: readonly { readonly kind: ClientKind; readonly count: number }[]
  readonly replicas: number
  /** Redis nodes behind each of the three primaries. */
  readonly redisReplicas: 0 | 1
  /**
   * `patient`: everything waits for seconds, so that a busy machine is not taken for a fault and every decision is the bucket's.
   * `prompt`: the deadlines of production, or near them; a run about latency or outages.
   */
  readonly deadlines: 'patient' | 'prompt'
  /** In words, for who asks what a run does. */
  readonly question: string
}

const hot = { kind: 'hot', count: 1 } as const

export const localPlans = {
  accuracy: {
    question: 'many callers, one bucket, all replicas: exactly what one bucket holds?',
    clients: [hot],
    replicas: 3,
    redisReplicas: 0,
    deadlines: 'patient',
  },
  smoke: {
    question: 'does the installation answer, count, refuse and announce as it should?',
    clients: [{ kind: 'waiting', count: 1 }],
    replicas: 2,
    redisReplicas: 0,
    deadlines: 'patient',
  },
} as const satisfies Readonly<Record<string, LocalPlan>>

export type ScenarioName = keyof typeof localPlans

export const isScenarioName = (text: string): text is ScenarioName => Object.hasOwn(localPlans, text)
