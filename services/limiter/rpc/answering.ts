import type { Reply, RequestHeaders } from '../unary/method.ts'
import type { CallsUnderWay } from './calls-under-way.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'

type Options = { readonly onBug: OnBug; readonly callsUnderWay: CallsUnderWay }

/** Answers requests, as many at once as there may be; every fault is a reply. */
export const answering =
  (
    answer: (request: Buffer, headers: RequestHeaders) => Promise<Buffer | CallFault>,
    { onBug, callsUnderWay }: Options,
  ) =>
  async (request: Buffer, headers: RequestHeaders): Promise<Reply> => {
    if (!callsUnderWay.enter()) return refused({ kind: 'too_many_calls' })
    const answered = await guarded(() => answer(request, headers), onBug)
    callsUnderWay.leave()
    return 'kind' in answered ? refused(answered) : { ok: true, message: answered }
  }

const refused = (fault: CallFault): Reply => ({ ok: false, refusal: statusOf(fault) })
