import type { IncomingMessage } from 'node:http'
import { apiError } from '../api-error.ts'
import { httpLimits } from './limits.ts'
import { refuse } from './refusal.ts'

/** Where a refused target is routed to; it is answered before its route is. */
const NOWHERE = '/'

/**
 * The path and query that a request is routed by. A target that cannot be routed is refused here, because the router
 * would answer it itself, past the gate and in a shape of its own.
 */
export const routedTarget = (request: IncomingMessage): string => {
  const target = originForm(request.url ?? '')
  if (target.length > httpLimits.urlLength) {
    refuse(request, apiError(414, 'url_too_long', `The URL is longer than ${httpLimits.urlLength} characters.`))
    return NOWHERE
  }
  if (!isDecodable(target)) {
    refuse(request, apiError(400, 'malformed_url', 'The URL has a % that does not begin an encoded UTF-8 character.'))
    return NOWHERE
  }
  return target
}

/** Servers accept `GET http://host/path` too (RFC 9112, 3.2.2), and `OPTIONS *` is no path. */
const originForm = (target: string) => {
  if (target.startsWith('/')) return target
  const path = target.replace(/^https?:\/\/[^/?#]*/i, '')
  return path.startsWith('/') ? path : `/${path}`
}

const isDecodable = (target: string) => {
  if (!target.includes('%')) return true
  try {
    decodeURIComponent(target)
    return true
  } catch {
    return false
  }
}
