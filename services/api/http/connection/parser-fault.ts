import type { Socket } from 'node:net'
import { type ApiError, apiError } from '../api-error.ts'

/** Node's error of a connection: what its parser stopped at, or a fault of the connection itself. */
export type ConnectionError = Error & {
  readonly code?: string
  readonly bytesParsed?: number
  /** The bytes in which it stopped, as a Buffer. */
  readonly rawPacket?: unknown
}

/** What the client is told, or `undefined` when there is nobody to tell or nothing was asked. */
export const parserFault = (error: ConnectionError, { bytesRead }: Pick<Socket, 'bytesRead'>): ApiError | undefined => {
  switch (error.code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      // A connection that never said anything is no request.
      return bytesRead === 0 ? undefined : apiError(408, 'request_timeout', 'The request did not arrive in time.')
    case 'HPE_HEADER_OVERFLOW':
      return isInRequestLine(error)
        ? apiError(414, 'url_too_long', 'The URL is longer than the server reads.')
        : apiError(431, 'headers_too_large', 'The header fields are larger than the server reads.')
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return apiError(413, 'body_too_large', 'The chunk extensions are larger than the server reads.')
    default:
      return error.code?.startsWith('HPE_')
        ? apiError(400, 'malformed_request', `The request is not well-formed HTTP: ${reason(error)}.`)
        : undefined
  }
}

/** Tells only if the line began in the packet in which it became too long. */
const isInRequestLine = ({ rawPacket, bytesParsed = 0 }: ConnectionError) =>
  Buffer.isBuffer(rawPacket) && /^[A-Z-]+ [^\n]*$/.test(rawPacket.toString('latin1', 0, bytesParsed))

/** The parser's own words; they never repeat what was sent. */
const reason = ({ message }: ConnectionError) => message.replace(/^Parse Error: /, '')
