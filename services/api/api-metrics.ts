import type { AskFailure } from '../limiter-client/channel/question.ts'
import type { ConnectedLimiterClient, LimiterObserver } from '../limiter-client/open-limiter-client.ts'
import { createDistribution, durationBoundsS } from '../platform/distribution.ts'
import { createLabelled } from '../platform/labelled.ts'
import type { Log } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { createTally } from '../platform/tally.ts'
import type { Answered } from './app.ts'
import type { ConnectionBook } from './http/connection/connection-book.ts'

const REQUEST_BOUNDS_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5]

/** Declares what the API publishes of its requests; the function returned records one. */
export const publishRequests = (metrics: Metrics) => {
  const durations = createLabelled(['route', 'status'], () => createDistribution(REQUEST_BOUNDS_S))
  metrics.histogram({
    name: 'weir_api_request_duration_seconds',
    help: 'Time from the header of a request to the end of its answer, by route template',
    labels: durations.labels,
    bounds: REQUEST_BOUNDS_S,
    read: () => durations.read().map(({ labels, item }) => ({ labels, distribution: item.read() })),
  })
  return ({ route, status, seconds }: Answered) => durations.at(route, String(status)).record(seconds)
}

/** Declares what the API publishes of who is connected. */
export const publishConnections = (metrics: Metrics, { open, refused }: ConnectionBook) => {
  metrics.gauge({
    name: 'weir_api_connections',
    help: 'Connections of clients that are open',
    labels: [],
    read: () => [{ labels: {}, value: open() }],
  })
  metrics.counter({
    name: 'weir_api_connections_refused_total',
    help: 'Connections that were closed at once, because their address or all together had as many as may be',
    labels: ['bound'],
    read: () => Object.entries(refused()).map(([bound, value]) => ({ labels: { bound }, value })),
  })
}

type Gate = { readonly metrics: Metrics; readonly log: Log } & Pick<ConnectedLimiterClient, 'countReplicas'>

/** Declares what the API publishes of its gate, and logs its changes of state; the observer returned is what it counts with. */
export const publishGate = ({ metrics, log, countReplicas }: Gate): LimiterObserver => {
  const failures: Record<AskFailure, number> = { deadline_exceeded: 0, unavailable: 0, rejected: 0, overloaded: 0 }
  let lateAnswers = 0
  let askedAgain = 0
  const connected = new Set<string>()
  let isBreakerOpen = false
  let lastDetail = ''
  let lastRejection = ''

  const durations = createLabelled(['source', 'verdict', 'basis'], () => createDistribution(durationBoundsS))
  const fallbacks = createTally(['reason', 'verdict'])
  metrics.histogram({
    name: 'weir_api_gate_duration_seconds',
    help: 'Time that the gate took, by who decided (the limiter, or this process as its fallback) and what',
    labels: durations.labels,
    bounds: durationBoundsS,
    read: () => durations.read().map(({ labels, item }) => ({ labels, distribution: item.read() })),
  })
  metrics.counter({
    name: 'weir_api_fallback_decisions_total',
    help: 'Requests that this process decided without the limiter, by why it did',
    labels: fallbacks.labels,
    read: fallbacks.read,
  })
  metrics.counter({
    name: 'weir_api_limiter_failures_total',
    help: 'Questions that the limiter did not answer',
    labels: ['failure'],
    read: () => Object.entries(failures).map(([failure, value]) => ({ labels: { failure }, value })),
  })
  metrics.counter({
    name: 'weir_api_limiter_late_answers_total',
    help: 'Answers of the limiter that came after the deadline: charged there, decided here',
    labels: [],
    read: () => [{ labels: {}, value: lateAnswers }],
  })
  metrics.counter({
    name: 'weir_api_limiter_asked_again_total',
    help: 'Checks that were lost with a connection and asked once more elsewhere: they may have been charged twice',
    labels: [],
    read: () => [{ labels: {}, value: askedAgain }],
  })
  metrics.gauge({
    name: 'weir_api_limiter_replicas',
    help: 'Limiters that the address stands for, by how they are reached now: ready, slow, connecting, away',
    labels: ['state'],
    read: () => Object.entries(countReplicas()).map(([state, value]) => ({ labels: { state }, value })),
  })
  metrics.gauge({
    name: 'weir_api_limiter_breaker_open',
    help: '1 while the limiter is not asked, because it does not answer',
    labels: [],
    read: () => [{ labels: {}, value: isBreakerOpen ? 1 : 0 }],
  })

  return {
    decided: (gate, elapsedUs) => {
      const { verdict, basis } = gate.decision
      durations.at(gate.source, verdict, basis).record(elapsedUs / 1_000_000)
      if (gate.source === 'fallback') fallbacks.add(gate.reason, verdict)
    },
    failed: (failure, detail) => {
      failures[failure] += 1
      lastDetail = detail
      // The question itself is at fault, so it is each time: say it once.
      if (failure !== 'rejected' || detail === lastRejection) return
      lastRejection = detail
      log.error({ detail }, 'the limiter rejects what it is asked: requests are decided here')
    },
    answeredLate: () => {
      lateAnswers += 1
    },
    askedAgain: () => {
      askedAgain += 1
    },
    connected: (address) => {
      if (connected.has(address)) return
      connected.add(address)
      log.info({ event: 'limiter.connected', address }, 'connected to a limiter')
    },
    // An attempt that failed is no news.
    lost: (address, reason) => {
      if (connected.delete(address))
        log.warn({ event: 'limiter.lost', address, reason }, 'the connection to a limiter has ended')
    },
    breakerChanged: (state) => {
      isBreakerOpen = state === 'open'
      if (isBreakerOpen)
        log.warn(
          { event: 'limiter.away', detail: lastDetail },
          'the limiter does not answer: requests are decided here',
        )
      else log.info({ event: 'limiter.back' }, 'the limiter answers again')
    },
  }
}
