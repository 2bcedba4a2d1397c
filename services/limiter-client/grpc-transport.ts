import type { Check } from '../contract/check.ts'
import { type MonotonicClock, systemMonotonicClock } from '../seams/clock.ts'
import { systemTimers, type Timers } from '../seams/timers.ts'
import { encodeCheck } from '../wire/check.ts'
import { MAX_MESSAGE_BYTES, rateLimitService } from '../wire/protocol.ts'
import { type Connection, MAX_UNANSWERED, openConnection } from './grpc-connection.ts'
import type { Transport } from './transport.ts'

/**
 * A connection on which calls are under way and none has ended for this long is given up for a new one: grpc-js has no
 * time limit for connecting, and a host that vanished is noticed late. The time doubles for each connection that nothing
 * was heard on, because grpc-js never closes a socket on which it is still connecting.
 */
const PATIENCE_MIN_US = 1_000_000
const PATIENCE_MAX_US = 32_000_000

type Options = {
  /** `host:port`, `dns:///name:port` or `unix:/path`. */
  readonly address: string
  readonly monotonicClock?: MonotonicClock
  readonly timers?: Timers
}

/** Unary calls over one long-lived connection. */
export const createGrpcTransport = (options: Options): Transport => {
  const { address, monotonicClock = systemMonotonicClock, timers = systemTimers } = options
  let connection = openConnection(address, monotonicClock)
  /** Those that still have calls under way. */
  let retired: readonly Connection[] = []
  let patienceUs = PATIENCE_MIN_US
  let closed = false

  const isSilent = () => connection.silentUs() >= patienceUs

  const replace = () => {
    patienceUs = connection.heard() ? PATIENCE_MIN_US : Math.min(patienceUs * 2, PATIENCE_MAX_US)
    connection.retire()
    retired = [...retired.filter((one) => one.unanswered() > 0), connection]
    connection = openConnection(address, monotonicClock)
  }

  const replaceIfStuck = () => {
    if (connection.unanswered() >= MAX_UNANSWERED) return replace()
    if (!isSilent()) return
    const suspect: Connection = connection
    // If it was this process that stood still, the answers are here after a poll.
    timers.afterPoll(() => {
      if (!closed && connection === suspect && isSilent()) replace()
    })
  }

  return {
    ask: async (check, deadlineMs) => {
      const encoded = encode(check)
      if (!encoded.ok) return { ok: false, failure: 'rejected', detail: encoded.problem }
      if (closed) return { ok: false, failure: 'unavailable', detail: 'the client is closed' }
      replaceIfStuck()
      return connection.call(encoded.message, deadlineMs)
    },
    [Symbol.asyncDispose]: async () => {
      closed = true
      for (const one of [...retired, connection]) one[Symbol.dispose]()
    },
  }
}

type Encoded = { readonly ok: true; readonly message: Buffer } | { readonly ok: false; readonly problem: string }

const encode = (check: Check): Encoded => {
  const message = rateLimitService.ShouldAllow.requestSerialize(encodeCheck(check))
  return message.length <= MAX_MESSAGE_BYTES
    ? { ok: true, message }
    : { ok: false, problem: `the check takes ${message.length} bytes: at most ${MAX_MESSAGE_BYTES} are sent` }
}
