import type { Check } from '../../contract/check.ts'
import type { Tracing } from '../../tracing/tracing.ts'
import { MAX_MESSAGE_BYTES, rateLimitService } from '../../wire/protocol.ts'
import { decodeRequest, encodeResponse } from '../../wire/should-allow.ts'
import type { CallsUnderWay } from '../core/calls-under-way.ts'
import type { Limiter } from '../core/limiter.ts'
import type { RequestHeaders, UnaryMethod } from '../unary/method.ts'
import { answering } from './answering.ts'
import { askedBy } from './asked-by.ts'
import type { OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

const METHOD = 'weir.v1.RateLimit/ShouldAllow'

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  readonly callsUnderWay: CallsUnderWay
  readonly tracing?: Tracing | undefined
}

export const createShouldAllow = ({ limiter, tracing, ...options }: Options): UnaryMethod => {
  const ask = async (check: Check, headers: RequestHeaders): Promise<Buffer | CallFault> => {
    const checked =
      tracing === undefined
        ? await limiter.shouldAllow(check)
        : await askedBy({ tracing, method: METHOD, headers, domain: check.domain }, () => limiter.shouldAllow(check))
    return checked.ok ? encodeResponse(checked.answer) : checked.fault
  }
  return {
    path: rateLimitService.ShouldAllow.path,
    maxBytes: MAX_MESSAGE_BYTES,
    tooLarge: statusOf({ kind: 'too_large' }),
    answer: answering({ ...options, decode: decodeRequest, ask }),
  }
}
