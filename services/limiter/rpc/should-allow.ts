import type { handleUnaryCall, MethodDefinition, sendUnaryData } from '@grpc/grpc-js'
import type { ParsedCheck } from '../../contract/check.ts'
import type { Answer } from '../../contract/decision.ts'
import { MAX_MESSAGE_BYTES, rateLimitService } from '../../wire/protocol.ts'
import { decodeRequest, encodeResponse } from '../../wire/should-allow.ts'
import type { Limiter } from '../core/limiter.ts'
import type { CallsUnderWay } from './calls-under-way.ts'
import { unused } from './decoded.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

type Request = ParsedCheck | { readonly ok: false; readonly fault: CallFault }

const NOT_A_MESSAGE: Request = { ok: false, fault: { kind: 'not_a_message' } }
const TOO_LARGE: Request = { ok: false, fault: { kind: 'too_large' } }

const method: MethodDefinition<Request, Answer> = {
  path: rateLimitService.ShouldAllow.path,
  requestStream: false,
  responseStream: false,
  // grpc-js has one limit for all methods, and a stream's frames are larger.
  requestDeserialize: (bytes) =>
    bytes.length > MAX_MESSAGE_BYTES ? TOO_LARGE : (decodeRequest(bytes) ?? NOT_A_MESSAGE),
  responseSerialize: encodeResponse,
  requestSerialize: unused,
  responseDeserialize: unused,
}

export const shouldAllowService = { ShouldAllow: method }

type Options = { readonly limiter: Limiter; readonly onBug: OnBug; readonly callsUnderWay: CallsUnderWay }

export const createShouldAllow = ({ limiter, onBug, callsUnderWay }: Options) => {
  const ShouldAllow: handleUnaryCall<Request, Answer> = async (call, respond) => {
    const { request } = call
    if (!request.ok) return refuse(respond, request.fault)
    if (!callsUnderWay.enter()) return refuse(respond, { kind: 'too_many_calls' })
    const checked = await guarded(() => limiter.shouldAllow(request.check), onBug)
    callsUnderWay.leave()
    if (call.cancelled) return
    if ('kind' in checked) refuse(respond, checked)
    else if (checked.ok) respond(null, checked.answer)
    else refuse(respond, checked.fault)
  }
  return { ShouldAllow }
}

const refuse = (respond: sendUnaryData<Answer>, fault: CallFault) => respond(statusOf(fault))
