import type { handleUnaryCall } from '@grpc/grpc-js'
import { type RateLimitServiceDefinition, rateLimitServiceV3 } from '../../wire/envoy-protocol.ts'
import { MAX_FRAME_BYTES } from '../../wire/protocol.ts'
import type { Limiter } from '../core/limiter.ts'
import { parseRequest } from '../envoy/request.ts'
import { encodeResponse, encodeUnlimited, type HeaderMode } from '../envoy/response.ts'
import type { CallsUnderWay } from './calls-under-way.ts'
import { type Decoded, tolerant } from './decoded.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

type Method = RateLimitServiceDefinition['ShouldRateLimit']
type Request = Decoded<ReturnType<Method['requestDeserialize']>>
type Response = Parameters<Method['responseSerialize']>[0]

// Descriptors repeat what a client of Envoy sent, which may be 60 KiB: a message refused for its length would let that client pass.
export const shouldRateLimitService = { ShouldRateLimit: tolerant(rateLimitServiceV3.ShouldRateLimit, MAX_FRAME_BYTES) }

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  readonly callsUnderWay: CallsUnderWay
  readonly headers: HeaderMode
}

/** Envoy's question: one check for each descriptor, all of them charged together or none. */
export const createShouldRateLimit = ({ limiter, onBug, callsUnderWay, headers }: Options) => {
  const answer = async (request: Request): Promise<Response | CallFault> => {
    if (!request.ok) return request
    const parsed = parseRequest(request.message)
    if (!parsed.ok) return parsed.fault
    const checked = await limiter.shouldAllowTogether(parsed.check)
    if (checked.ok) return encodeResponse(checked.answers, headers)
    return checked.fault.kind === 'unknown_domain' ? encodeUnlimited(parsed.check.parts.length) : checked.fault
  }

  const ShouldRateLimit: handleUnaryCall<Request, Response> = async (call, respond) => {
    if (!callsUnderWay.enter()) {
      respond(statusOf({ kind: 'too_many_calls' }))
      return
    }
    const answered = await guarded(() => answer(call.request), onBug)
    callsUnderWay.leave()
    if (call.cancelled) return
    if ('kind' in answered) respond(statusOf(answered))
    else respond(null, answered)
  }
  return { ShouldRateLimit }
}
