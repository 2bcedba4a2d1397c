import { constants, type ServerHttp2Stream } from 'node:http2'
import type { Refusal } from './method.ts'

export const CONTENT = { ':status': 200, 'content-type': 'application/grpc+proto' } as const

/** Ends a call without a response; false if it has ended already. */
export const sendRefusal = (stream: ServerHttp2Stream, { code, details }: Refusal): boolean => {
  if (stream.destroyed || stream.closed) return false
  const trailers = { 'grpc-status': code, 'grpc-message': encodeURI(details.toWellFormed()) }
  stream.respond({ ...CONTENT, ...trailers }, { endStream: true })
  // Nobody reads what the caller may still send.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
  return true
}
