import type { handleUnaryCall, sendUnaryData } from '@grpc/grpc-js'
import { encodeAnswer } from '../../wire/answer.ts'
import { decodeCheck } from '../../wire/check.ts'
import { type RateLimitDefinition, rateLimitService } from '../../wire/protocol.ts'
import type { Limiter } from '../core/limiter.ts'
import type { CallsUnderWay } from './calls-under-way.ts'
import { type Decoded, tolerant } from './decoded.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

type Method = RateLimitDefinition['ShouldAllow']
type Request = Decoded<ReturnType<Method['requestDeserialize']>>
type Response = Parameters<Method['responseSerialize']>[0]

export const shouldAllowService = { ShouldAllow: tolerant(rateLimitService.ShouldAllow) }

type Options = { readonly limiter: Limiter; readonly onBug: OnBug; readonly callsUnderWay: CallsUnderWay }

export const createShouldAllow = ({ limiter, onBug, callsUnderWay }: Options) => {
  const answer = async (request: Request): Promise<Response | CallFault> => {
    if (!request.ok) return request
    const parsed = decodeCheck(request.message)
    if (!parsed.ok) return parsed.fault
    const checked = await limiter.shouldAllow(parsed.check)
    return checked.ok ? encodeAnswer(checked.answer) : checked.fault
  }

  const ShouldAllow: handleUnaryCall<Request, Response> = async (call, respond) => {
    if (!callsUnderWay.enter()) return reply(respond, { kind: 'too_many_calls' })
    const answered = await guarded(() => answer(call.request), onBug)
    callsUnderWay.leave()
    if (!call.cancelled) reply(respond, answered)
  }
  return { ShouldAllow }
}

const reply = (respond: sendUnaryData<Response>, answered: Response | CallFault) =>
  'kind' in answered ? respond(statusOf(answered)) : respond(null, answered)
