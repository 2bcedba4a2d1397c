import type { Check } from '../../contract/check.ts'
import type { TraceContext } from '../../contract/trace-context.ts'
import { createLimiterClient, type GateDecision } from '../../limiter-client/client.ts'
import type { FallbackPlan } from '../../limiter-client/fallback.ts'
import { createStreamTransport } from '../../limiter-client/replicas/stream-transport.ts'
import type { Names } from '../../seams/names.ts'
import type { NetworkModel } from './network-model.ts'
import { createProcessModel, type ProcessModel } from './process-model.ts'
import type { Random } from './random.ts'
import type { VirtualTime } from './virtual-time.ts'

/** The client's own code in a process that asks limiters; only names, sockets and the time are models. */
export type ApiModel = {
  readonly process: ProcessModel
  /** `question`: a number by which limiters know it again. */
  readonly ask: (check: Check, question: number) => Promise<GateDecision>
  readonly askedAgain: () => number
  /** Connections that ended, or attempts at one. */
  readonly lost: () => number
}

type Options = {
  readonly time: VirtualTime
  readonly random: Random
  readonly network: NetworkModel
  readonly names: Names
  readonly deadlineMs: number
  readonly fallback: FallbackPlan
  readonly affinity: string
  readonly rememberRefusals: boolean
}

export const openApiModel = ({ time, random, network, names, affinity, ...options }: Options): ApiModel => {
  const process = createProcessModel(time, random)
  const { timers } = process
  const seams = { timers, randomness: random.next, monotonicClock: { monotonicUs: process.monotonicUs } }
  let asking: TraceContext | undefined
  let askedAgain = 0
  let lost = 0
  const transport = createStreamTransport({
    ...seams,
    address: 'dns:///limiters:50051',
    names,
    affinity,
    openLink: ({ endpoint }, events) =>
      network.open(process, 'host' in endpoint ? endpoint.host : endpoint.path, events),
    traceContext: () => asking,
    observe: {
      connected: () => {},
      lost: () => {
        lost += 1
      },
      askedAgain: () => {
        askedAgain += 1
      },
    },
  })
  const client = createLimiterClient({ ...seams, ...options, transport })
  return {
    process,
    ask: (check, question) => {
      asking = { traceId: question.toString(16).padStart(32, '0'), spanId: '1'.padStart(16, '0'), isSampled: true }
      const answer = client.shouldAllow(check)
      asking = undefined
      return answer
    },
    askedAgain: () => askedAgain,
    lost: () => lost,
  }
}
