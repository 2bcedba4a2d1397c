import type { Check } from '../../contract/check.ts'
import type { TraceContext } from '../../contract/trace-context.ts'
import { type MonotonicClock, systemMonotonicClock } from '../../seams/clock.ts'
import type { Names } from '../../seams/names.ts'
import { type Randomness, systemRandomness } from '../../seams/randomness.ts'
import { systemTimers, type Timers } from '../../seams/timers.ts'
import { shouldAllowStream } from '../../wire/should-allow-stream.ts'
import { type Endpoint, openHttp2Link, type TlsMaterial } from '../channel/http2-link.ts'
import type { Asked } from '../channel/question.ts'
import { openReplica, type ReplicaEvents } from '../channel/replica.ts'
import { followAddresses } from './follow-addresses.ts'
import { hashText } from './hash.ts'
import { parseLimiterAddress } from './limiter-address.ts'
import { openReplicaSet, type ReplicaObserver, type ReplicaSet } from './replica-set.ts'
import { systemNames } from './system-names.ts'
import type { Transport } from './transport.ts'

export type TransportOptions = {
  /** `host:port`, `dns:///name:port` (every limiter that the name stands for is used) or `unix:/path`. */
  readonly address: string
  /** Asked for at each new connection, so that it uses renewed certificates. Absent: without TLS. */
  readonly tls?: (() => TlsMaterial) | undefined
  /** How long a limiter that was asked may say nothing before it is given up; 1,000 unless said. */
  readonly patienceMs?: number
  /** The attribute whose values keep to one limiter each, as long as that has not far more to do than the others. */
  readonly affinity?: string
  readonly observe?: ReplicaObserver | undefined
  /** What the check that is being asked is part of; the limiter's steps then belong to the same trace. Absent: nothing is traced. */
  readonly traceContext?: (() => TraceContext | undefined) | undefined
  readonly monotonicClock?: MonotonicClock
  readonly timers?: Timers
  readonly randomness?: Randomness
  readonly names?: Names
  readonly openLink?: typeof openHttp2Link
}

export type StreamTransport = Transport & Pick<ReplicaSet, 'count'>

/** One stream to each limiter that the address stands for. */
export const createStreamTransport = (options: TransportOptions): StreamTransport => {
  const { address, tls, patienceMs, affinity = 'client', observe, traceContext, names = systemNames } = options
  const { monotonicClock = systemMonotonicClock, timers = systemTimers, randomness = systemRandomness } = options
  const { openLink = openHttp2Link } = options
  const target = parseLimiterAddress(address)
  if (target === undefined) throw new TypeError(`${address}: it must be host:port, dns:///name:port or unix:/path`)

  const open = (endpoint: Endpoint, serverName: string, events: ReplicaEvents) =>
    openReplica({
      openLink: (linkEvents) =>
        openLink({ endpoint, serverName, method: shouldAllowStream.path, tls: tls?.() }, linkEvents),
      ...(patienceMs !== undefined && { patienceUs: patienceMs * 1_000 }),
      monotonicClock,
      timers,
      randomness,
      events,
    })
  const set = openReplicaSet({
    open: (one, events) =>
      target.kind === 'name'
        ? open({ host: one, port: target.port }, target.name, events)
        : open(target.endpoint, target.serverName, events),
    nobody: `${address} stands for nobody`,
    monotonicClock,
    timers,
    observe,
  })
  if (target.kind === 'one') set.update([address])
  const following =
    target.kind === 'name' ? followAddresses({ name: target.name, names, timers, onAddresses: set.update }) : undefined
  let isLookedUp = following === undefined
  void following?.ready.then(() => {
    isLookedUp = true
  })

  const ask = (check: Check, endUs: number) =>
    new Promise<Asked>((settle) => {
      const subject = subjectOf(check, affinity)
      set.ask({ check, subject, trace: traceContext?.(), endUs, settle, isRepeat: false })
    })

  return {
    ask: (check, deadlineMs) => {
      const endUs = monotonicClock.monotonicUs() + deadlineMs * 1_000
      return isLookedUp || following === undefined ? ask(check, endUs) : following.ready.then(() => ask(check, endUs))
    },
    count: set.count,
    [Symbol.asyncDispose]: async () => {
      following?.[Symbol.dispose]()
      set[Symbol.dispose]()
    },
  }
}

/** Without the attribute, all that is known of the request together. */
const subjectOf = ({ attributes }: Check, affinity: string) => {
  const subject = attributes.get(affinity)
  return hashText(subject ?? [...attributes.values()].join('\n'))
}
