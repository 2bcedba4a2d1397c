import type { handleUnaryCall, ServerUnaryCall } from '@grpc/grpc-js'
import type { Check } from '../../contract/check.ts'
import { decodeAdminCheck, encodeQuotas } from '../../wire/admin.ts'
import { type AdminDefinition, adminService } from '../../wire/protocol.ts'
import type { AdminCallLog } from '../core/admin-call-log.ts'
import type { Limiter } from '../core/limiter.ts'
import { type Decoded, tolerant } from './decoded.ts'
import { guarded, type OnBug } from './guarded.ts'
import { type CallFault, statusOf } from './status.ts'
import { carriesToken, type ReadToken } from './token.ts'

type AdminMessage = Parameters<typeof decodeAdminCheck>[0]
type MessageOf<Name extends 'Peek' | 'Reset'> = ReturnType<AdminDefinition[Name]['requestDeserialize']>
type ResponseOf<Name extends 'Peek' | 'Reset'> = Parameters<AdminDefinition[Name]['responseSerialize']>[0]

export const adminCallsService = { Peek: tolerant(adminService.Peek), Reset: tolerant(adminService.Reset) }

type Options = {
  readonly limiter: Limiter
  readonly onBug: OnBug
  readonly readToken: ReadToken
  readonly log: AdminCallLog
}

/** Peek and Reset, for calls that carry `authorization: Bearer <token>`. */
export const createAdmin = ({ limiter, onBug, readToken, log }: Options) => {
  const serve = <Message extends AdminMessage, Response extends object>(
    method: string,
    answer: (check: Check, message: Message) => Promise<Response | CallFault>,
  ): handleUnaryCall<Decoded<Message>, Response> => {
    const answerTo = async ({
      metadata,
      request,
    }: ServerUnaryCall<Decoded<Message>, Response>): Promise<Response | CallFault> => {
      if (!(await carriesToken(metadata.get('authorization')[0], readToken))) return { kind: 'unauthenticated' }
      if (!request.ok) return request
      const parsed = decodeAdminCheck(request.message)
      return parsed.ok ? answer(parsed.check, request.message) : parsed.fault
    }
    return async (call, respond) => {
      const answered = await guarded(() => answerTo(call), onBug)
      const result = isFault(answered) ? answered.kind : 'done'
      const asked = result !== 'unauthenticated' && call.request.ok ? call.request.message : undefined
      log({
        method,
        peer: call.getPeer(),
        result,
        ...(asked !== undefined && { asked }),
        ...policiesOf(answered),
      })
      if (isFault(answered)) respond(statusOf(answered))
      else respond(null, answered)
    }
  }

  return {
    Peek: serve<MessageOf<'Peek'>, ResponseOf<'Peek'>>('Peek', async (check) => {
      const peeked = await limiter.peek(check)
      return peeked.ok ? encodeQuotas(peeked.quotas) : peeked.fault
    }),
    Reset: serve<MessageOf<'Reset'>, ResponseOf<'Reset'>>('Reset', async (check, { policy }) => {
      const done = await limiter.reset(check, policy)
      return done.ok ? { policies: [...done.policies] } : done.fault
    }),
  }
}

const policiesOf = (answered: object) =>
  'policies' in answered && Array.isArray(answered.policies) ? { policies: answered.policies.map(String) } : {}

const isFault = (answered: object): answered is CallFault => 'kind' in answered
