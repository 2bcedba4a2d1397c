import type { IncomingMessage } from 'node:http'
import type { ApiError } from '../api-error.ts'

/**
 * What was found wrong with a request before it reached its route. It is kept until the request has passed the gate:
 * what is refused is charged like everything else.
 */
const refusals = new WeakMap<IncomingMessage, ApiError>()

/** The first refusal stands. */
export const refuse = (request: IncomingMessage, error: ApiError) => {
  if (!refusals.has(request)) refusals.set(request, error)
}

export const refusalOf = (request: IncomingMessage) => refusals.get(request)
