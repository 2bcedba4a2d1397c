import type { CallsUnderWay } from '../core/calls-under-way.ts'
import type { Reply, RequestHeaders } from '../unary/method.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

type Decoded<Check> = { readonly ok: true; readonly check: Check } | { readonly ok: false; readonly fault: CallFault }

type Options<Check> = {
  readonly onBug: OnBug
  readonly callsUnderWay: CallsUnderWay
  /** `undefined` when the bytes are no message. */
  readonly decode: (request: Buffer) => Decoded<Check> | undefined
  readonly ask: (check: Check, headers: RequestHeaders) => Promise<Buffer | CallFault>
}

/** Answers requests, as many at once as there may be; every fault is a reply. */
export const answering = <Check>({ onBug, callsUnderWay, decode, ask }: Options<Check>) => {
  // Not async: each call would wait for one more promise.
  const answer = (request: Buffer, headers: RequestHeaders): Promise<Buffer | CallFault> => {
    const decoded = decode(request)
    if (decoded === undefined) return Promise.resolve({ kind: 'not_a_message' })
    return decoded.ok ? ask(decoded.check, headers) : Promise.resolve(decoded.fault)
  }
  return async (request: Buffer, headers: RequestHeaders): Promise<Reply> => {
    if (!callsUnderWay.enter()) return refused({ kind: 'too_many_calls' })
    const answered = await guarded(() => answer(request, headers), onBug)
    callsUnderWay.leave()
    return 'kind' in answered ? refused(answered) : { ok: true, message: answered }
  }
}

const refused = (fault: CallFault): Reply => ({ ok: false, refusal: statusOf(fault) })
