import { Client, type ClientOptions, type ClientUnaryCall, credentials, type ServiceError, status } from '@grpc/grpc-js'
import { type MonotonicClock, systemWallClock } from '../seams/clock.ts'
import { decodeAnswer } from '../wire/answer.ts'
import { MAX_MESSAGE_BYTES, rateLimitService } from '../wire/protocol.ts'
import type { Asked, AskFailure } from './transport.ts'

/**
 * A call whose asker has given up is left alone for this long before it is cancelled, because a server takes a session
 * with many cancelled calls for a rapid-reset attack and closes it: Node's does so beyond 1,000 at once and 33 more a
 * second. With at most MAX_UNANSWERED calls under way, each for this long, a session stays below that.
 */
const ABANDONED_MS = 30_000
export const MAX_UNANSWERED = 900
const LATE_US = 1_000_000

const channelOptions: ClientOptions = {
  // The defaults are 1 s and 2 min: a limiter that is back would long go unused.
  'grpc.initial_reconnect_backoff_ms': 50,
  'grpc.max_reconnect_backoff_ms': 1_000,
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 2_000,
  'grpc.keepalive_permit_without_calls': 1,
  'grpc.max_send_message_length': MAX_MESSAGE_BYTES,
  'grpc.max_receive_message_length': MAX_MESSAGE_BYTES,
  // A repeated check could be charged twice.
  'grpc.enable_retries': 0,
  // A name that stands for several limiters: all of them are used.
  'grpc.service_config': '{"loadBalancingConfig":[{"round_robin":{}}]}',
  'grpc.service_config_disable_resolution': 1,
  // A proxy of the environment is for the world outside.
  'grpc.enable_http_proxy': 0,
  'grpc.enable_channelz': 0,
  // A new connection is a new one, not another's from a pool.
  'grpc.use_local_subchannel_pool': 1,
}

/** One channel to the limiter, connecting at once and again by itself. */
export type Connection = Disposable & {
  /** Never rejects. */
  readonly call: (message: Buffer, deadlineMs: number) => Promise<Asked>
  /** For one that gets no more calls: drops those that nobody waits for, and closes when the others have ended. */
  readonly retire: () => void
  readonly unanswered: () => number
  /** For how long calls have been under way and none has ended. */
  readonly silentUs: () => number
  /** Whether any call has ended. */
  readonly heard: () => boolean
}

export const openConnection = (address: string, monotonicClock: MonotonicClock): Connection => {
  const client = new Client(address, credentials.createInsecure(), channelOptions)
  client.getChannel().getConnectivityState(true)
  /** With the time at which their askers give up. */
  const calls = new Map<ClientUnaryCall, number>()
  let heard = false
  let lastHeardUs = 0
  let retired = false

  const closeIfDone = () => {
    if (retired && calls.size === 0) client.close()
  }

  const start = (message: Buffer, deadlineMs: number, resolve: (asked: Asked) => void) => {
    const { path, responseDeserialize } = rateLimitService.ShouldAllow
    const nowUs = monotonicClock.monotonicUs()
    if (calls.size === 0) lastHeardUs = nowUs
    // gRPC takes an instant of the system's clock.
    const deadline = systemWallClock.nowUs() / 1000 + deadlineMs + ABANDONED_MS
    const call = client.makeUnaryRequest(
      path,
      asItIs,
      responseDeserialize,
      message,
      { deadline },
      (error, response) => {
        calls.delete(call)
        heard = true
        lastHeardUs = monotonicClock.monotonicUs()
        closeIfDone()
        resolve(error === null ? decode(response) : failed(error))
      },
    )
    calls.set(call, nowUs + deadlineMs * 1000)
  }

  return {
    call: (message, deadlineMs) =>
      new Promise((resolve) => {
        try {
          start(message, deadlineMs, resolve)
        } catch (error) {
          // grpc-js throws when the channel is closed.
          resolve({ ok: false, failure: 'unavailable', detail: String(error) })
        }
      }),
    unanswered: () => calls.size,
    silentUs: () => (calls.size === 0 ? 0 : monotonicClock.monotonicUs() - lastHeardUs),
    heard: () => heard,
    retire: () => {
      const nowUs = monotonicClock.monotonicUs()
      // Whose asker has surely given up: one may still wait while this loop is late.
      for (const [call, endUs] of calls) if (endUs + LATE_US <= nowUs) call.cancel()
      retired = true
      closeIfDone()
    },
    [Symbol.dispose]: () => {
      for (const call of calls.keys()) call.cancel()
      client.close()
    },
  }
}

const asItIs = (message: Buffer) => message

type Response = ReturnType<typeof rateLimitService.ShouldAllow.responseDeserialize>

const decode = (response: Response | undefined): Asked => {
  const answer = response === undefined ? undefined : decodeAnswer(response)
  return answer === undefined
    ? { ok: false, failure: 'unavailable', detail: 'the limiter answered something that this version does not know' }
    : { ok: true, answer }
}

const failed = ({ code, details }: ServiceError): Asked => ({
  ok: false,
  failure: failureOf(code),
  detail: `${status[code]}: ${details}`,
})

const failureOf = (code: status): AskFailure => {
  switch (code) {
    case status.INVALID_ARGUMENT:
    case status.NOT_FOUND:
      return 'rejected'
    case status.DEADLINE_EXCEEDED:
      return 'deadline_exceeded'
    default:
      return 'unavailable'
  }
}
