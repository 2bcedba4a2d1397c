import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, apiError, errorBody } from './api-error.ts'

/** Makes every error of the app one shape. What only a bug causes is logged in full and told as nothing but its id. */
export const renderErrors = (app: FastifyInstance) => {
  app.setErrorHandler((error, request, reply) => sendError(reply, knownError(error) ?? unexpected(error, request)))
}

export const sendError = (reply: FastifyReply, error: ApiError) => {
  // Fastify closes the connection of every body that it could not parse. Most of them were read to their end, and of the
  // others a client that is still sending would lose its answer.
  if (reply.hasHeader('connection')) reply.header('connection', reply.raw.shouldKeepAlive ? 'keep-alive' : 'close')
  return (
    reply
      .code(error.status)
      .headers(error.headers)
      // Bytes, because Fastify adds a charset, which JSON does not have, to the type of a text.
      .header('content-type', 'application/json')
      .send(Buffer.from(JSON.stringify(errorBody(error))))
  )
}

const knownError = (error: unknown): ApiError | undefined => {
  if (error instanceof ApiError) return error
  switch (error instanceof Error && 'code' in error ? error.code : undefined) {
    case 'FST_ERR_CTP_BODY_TOO_LARGE':
      return apiError(413, 'body_too_large', 'The body is larger than the server reads.')
    case 'FST_ERR_CTP_INVALID_MEDIA_TYPE':
      return apiError(415, 'media_type_unsupported', 'Send the body as application/json.')
    case 'FST_ERR_CTP_INVALID_CONTENT_LENGTH':
      return apiError(400, 'malformed_request', 'The body is not as long as Content-Length says.')
    // The client went away within its body; nobody reads this.
    case 'ECONNRESET':
      return apiError(400, 'malformed_request', 'The body ended early.')
    default:
      return undefined
  }
}

const unexpected = (error: unknown, request: FastifyRequest) => {
  request.log.error({ err: error }, 'request failed')
  return apiError(500, 'internal_error', `The server failed. Its operator finds the fault under the id ${request.id}.`)
}
