import type { handleBidiStreamingCall } from '@grpc/grpc-js'
import type { Check, ParsedCheck } from '../../contract/check.ts'
import type { TraceContext } from '../../contract/trace-context.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import type { DecodedCheckFrame } from '../../wire/check-frame.ts'
import type { StreamDecision } from '../../wire/decision-frame.ts'
import { shouldAllowStream } from '../../wire/should-allow-stream.ts'
import type { CallsUnderWay } from '../core/calls-under-way.ts'
import type { Limiter } from '../core/limiter.ts'
import type { Waiting } from '../guard/waiting.ts'
import { type OpenStream, openStream } from '../stream/open-stream.ts'
import { createReadGates } from '../stream/read-gates.ts'
import type { OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'
import { traced } from './traced.ts'

/** How long callers that were told of the drain may go on sending before their streams end. */
const HALF_CLOSE_MS = 1_000

export const shouldAllowStreamService = { ShouldAllowStream: shouldAllowStream }

const METHOD = 'weir.v1.RateLimit/ShouldAllowStream'

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  readonly callsUnderWay: CallsUnderWay
  readonly waiting: Waiting
  /** Absent: nothing is traced. */
  readonly tracing?: Tracing | undefined
}

/** ShouldAllowStream. Its interceptor has to be the server's. */
export const createShouldAllowStream = ({ limiter, onBug, callsUnderWay, waiting, tracing }: Options) => {
  const { interceptor, gateOf } = createReadGates(waiting)
  const streams = new Set<OpenStream>()
  const drained = Promise.withResolvers<void>()
  let isDraining = false

  /** A check whose caller traces nothing begins no trace here. */
  const ask = (check: Check, parent: TraceContext | undefined) => {
    if (tracing === undefined || parent === undefined) return limiter.shouldAllow(check)
    return traced({ tracing, method: METHOD, parent, domain: check.domain }, () => limiter.shouldAllow(check))
  }

  const decide = async (id: number, parsed: ParsedCheck, parent: TraceContext | undefined): Promise<StreamDecision> => {
    if (!parsed.ok) return failed(id, parsed.fault)
    if (!callsUnderWay.enter()) return failed(id, { kind: 'too_many_calls' })
    try {
      const checked = await ask(parsed.check, parent)
      return checked.ok ? { id, ok: true, answer: checked.answer } : failed(id, checked.fault)
    } catch (error) {
      // As `guarded` does, without one more promise for each check.
      onBug(error)
      return failed(id, { kind: 'bug' })
    } finally {
      callsUnderWay.leave()
    }
  }

  const ShouldAllowStream: handleBidiStreamingCall<DecodedCheckFrame, Buffer> = (call) => {
    const gate = gateOf(call)
    if (gate === undefined) throw new Error('the interceptor of ShouldAllowStream is not the server’s')
    const stream = openStream({
      call,
      gate,
      waiting,
      decide,
      onClose: () => {
        streams.delete(stream)
        if (isDraining && streams.size === 0) drained.resolve()
      },
    })
    streams.add(stream)
    if (isDraining) stream.drain()
  }

  return {
    handlers: { ShouldAllowStream },
    interceptor,
    /** Resolves when every stream has ended. */
    drain: async () => {
      isDraining = true
      if (streams.size === 0) return
      for (const stream of streams) stream.drain()
      const timer = setTimeout(() => {
        for (const stream of streams) stream.finish()
      }, HALF_CLOSE_MS)
      await drained.promise
      clearTimeout(timer)
    },
  }
}

const failed = (id: number, fault: CallFault): StreamDecision => {
  const { code, details } = statusOf(fault)
  return { id, ok: false, code, message: details }
}
