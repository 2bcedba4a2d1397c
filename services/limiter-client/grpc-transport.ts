import type { Check } from '../contract/check.ts'
import { type MonotonicClock, systemMonotonicClock } from '../seams/clock.ts'
import type { Names } from '../seams/names.ts'
import { systemTimers, type Timers } from '../seams/timers.ts'
import { encodeCheck } from '../wire/check.ts'
import { MAX_MESSAGE_BYTES, rateLimitService } from '../wire/protocol.ts'
import { type Connection, MAX_UNANSWERED, openConnection } from './grpc-connection.ts'
import { systemNames } from './system-names.ts'
import { followTargets } from './targets.ts'
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
  readonly names?: Names
}

/** Unary calls over one long-lived connection to all limiters that the address stands for. */
export const createGrpcTransport = (options: Options): Transport => {
  const { address, monotonicClock = systemMonotonicClock, timers = systemTimers, names = systemNames } = options
  /** Absent until a name has been looked up. */
  let connection: Connection | undefined
  let target = address
  /** Those that still have calls under way. */
  let retired: readonly Connection[] = []
  let patienceUs = PATIENCE_MIN_US
  let closed = false

  const isSilent = (one: Connection) => one.silentUs() >= patienceUs

  const open = () => {
    if (connection !== undefined) {
      connection.retire()
      retired = [...retired.filter((one) => one.unanswered() > 0), connection]
    }
    connection = openConnection(target, monotonicClock)
  }

  const targets = followTargets({
    address,
    names,
    timers,
    onTarget: (next) => {
      target = next
      open()
    },
  })

  const replace = (stuck: Connection) => {
    patienceUs = stuck.heard() ? PATIENCE_MIN_US : Math.min(patienceUs * 2, PATIENCE_MAX_US)
    open()
  }

  const replaceIfStuck = (suspect: Connection) => {
    if (suspect.unanswered() >= MAX_UNANSWERED) return replace(suspect)
    if (!isSilent(suspect)) return
    // If it was this process that stood still, the answers are here after a poll.
    timers.afterPoll(() => {
      if (!closed && connection === suspect && isSilent(suspect)) replace(suspect)
    })
  }

  return {
    ask: async (check, deadlineMs) => {
      const encoded = encode(check)
      if (!encoded.ok) return { ok: false, failure: 'rejected', detail: encoded.problem }
      if (connection === undefined) await targets.ready
      if (closed) return { ok: false, failure: 'unavailable', detail: 'the client is closed' }
      if (connection === undefined) return { ok: false, failure: 'unavailable', detail: `${address} stands for nobody` }
      replaceIfStuck(connection)
      return connection.call(encoded.message, deadlineMs)
    },
    [Symbol.asyncDispose]: async () => {
      closed = true
      targets[Symbol.dispose]()
      for (const one of [...retired, ...(connection === undefined ? [] : [connection])]) one[Symbol.dispose]()
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
