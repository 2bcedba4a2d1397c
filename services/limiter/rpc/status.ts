import { type ServiceError, status } from '@grpc/grpc-js'
import type { CheckFault } from '../../contract/check.ts'
import { MAX_MESSAGE_BYTES } from '../../wire/protocol.ts'

type Refused = Pick<ServiceError, 'code' | 'details'>

export const STORE_UNAVAILABLE = 'the store does not answer'

export type CallFault =
  | CheckFault
  | { readonly kind: 'store_unavailable' | 'not_a_message' | 'too_many_calls' | 'unauthenticated' | 'bug' }
  | { readonly kind: 'too_large'; readonly maxBytes?: number }

/** What a caller is told who gets no answer: the gRPC status, the field at fault, and the remedy. */
export const statusOf = (fault: CallFault): Refused => {
  switch (fault.kind) {
    case 'invalid':
      return { code: status.INVALID_ARGUMENT, details: `${fault.field} ${fault.problem}` }
    case 'unknown_domain': {
      const known = fault.knownDomains.length === 0 ? 'none' : fault.knownDomains.join(', ')
      return { code: status.NOT_FOUND, details: `domain ${JSON.stringify(fault.domain)} is unknown; known: ${known}` }
    }
    case 'not_a_message':
      return { code: status.INVALID_ARGUMENT, details: 'the request is not a message of proto/weir/v1' }
    case 'too_large':
      return {
        code: status.RESOURCE_EXHAUSTED,
        details: `the message is over ${fault.maxBytes ?? MAX_MESSAGE_BYTES} bytes`,
      }
    case 'too_many_calls':
      return {
        code: status.RESOURCE_EXHAUSTED,
        details: 'the limiter has too many calls under way; ask another replica',
      }
    case 'unauthenticated':
      return { code: status.UNAUTHENTICATED, details: 'send the admin token, as authorization: Bearer <token>' }
    case 'bug':
      return { code: status.INTERNAL, details: 'the limiter failed; its log says why' }
    case 'store_unavailable':
      return { code: status.UNAVAILABLE, details: STORE_UNAVAILABLE }
  }
}
