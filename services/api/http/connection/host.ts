import type { IncomingMessage } from 'node:http'
import { apiError } from '../api-error.ts'
import { headerLines } from './header-lines.ts'
import { refuse } from './refusal.ts'

/** HTTP/1.1 requires exactly one Host (RFC 9112, 3.2). Node would check it itself, but answers past the gate. */
export const checkHost = (request: IncomingMessage) => {
  const count = headerLines(request, 'host').length
  if (count === 1 || (count === 0 && request.httpVersion === '1.0')) return
  refuse(request, apiError(400, 'host_required', 'Send one Host header.'))
}
