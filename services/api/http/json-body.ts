import type { FastifyInstance } from 'fastify'
import { apiError } from './api-error.ts'
import { findRepeatedMember } from './repeated-member.ts'

/** The only bodies read are JSON, and what two readers could understand in two ways is refused. */
export const readJsonBodies = (app: FastifyInstance) => {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, async (_request: unknown, body: Buffer) =>
    parseJson(body),
  )
}

/** `undefined` for an empty body, which only a route that needs one objects to. */
export const parseJson = (body: Uint8Array): unknown => {
  if (body.length === 0) return undefined
  const text = decodeText(body)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw apiError(400, 'malformed_body', 'The body is not well-formed JSON.')
  }
  const repeated = findRepeatedMember(text)
  if (repeated !== undefined) throw apiError(400, 'repeated_field', 'The field is given twice.', repeated)
  return value
}

const decodeText = (body: Uint8Array) => {
  try {
    return utf8.decode(body)
  } catch {
    throw apiError(400, 'malformed_body', 'The body is not well-formed UTF-8.')
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })
