import type { Tracing } from '../../tracing/tracing.ts'
import { rateLimitServiceV3 } from '../../wire/envoy-protocol.ts'
import { MAX_FRAME_BYTES } from '../../wire/protocol.ts'
import { encodeRateLimitResponse } from '../../wire/rate-limit-response.ts'
import type { CallsUnderWay } from '../core/calls-under-way.ts'
import type { JointCheck } from '../core/joint-check.ts'
import type { Limiter } from '../core/limiter.ts'
import { decodeRequest } from '../envoy/decode-request.ts'
import { encodeResponse, encodeUnlimited, type HeaderMode } from '../envoy/response.ts'
import type { RequestHeaders, UnaryMethod } from '../unary/method.ts'
import { answering } from './answering.ts'
import { askedBy } from './asked-by.ts'
import type { OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

const METHOD = 'envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit'

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  readonly callsUnderWay: CallsUnderWay
  readonly tracing?: Tracing | undefined
  readonly headers: HeaderMode
}

/** Envoy's question: one check for each descriptor, all of them charged together or none. */
export const createShouldRateLimit = ({ limiter, tracing, headers: mode, ...options }: Options): UnaryMethod => {
  const ask = async (check: JointCheck, headers: RequestHeaders): Promise<Buffer | CallFault> => {
    const checked =
      tracing === undefined
        ? await limiter.shouldAllowTogether(check)
        : await askedBy({ tracing, method: METHOD, headers, domain: check.domain }, () =>
            limiter.shouldAllowTogether(check),
          )
    if (checked.ok) return encodeRateLimitResponse(encodeResponse(checked.answers, mode))
    if (checked.fault.kind !== 'unknown_domain') return checked.fault
    return encodeRateLimitResponse(encodeUnlimited(check.parts.length))
  }
  return {
    path: rateLimitServiceV3.ShouldRateLimit.path,
    // Descriptors repeat what a client of Envoy sent, which may be 60 KiB: a message refused for its length would let that client pass.
    maxBytes: MAX_FRAME_BYTES,
    tooLarge: statusOf({ kind: 'too_large', maxBytes: MAX_FRAME_BYTES }),
    answer: answering({ ...options, decode: decodeRequest, ask }),
  }
}
