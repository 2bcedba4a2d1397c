import { Type } from 'typebox'
import { type ErrorCode, errorCodes } from './error-codes.ts'

/** What any request can meet at its route. */
const atEveryRoute = [
  'malformed_request',
  'malformed_url',
  'host_required',
  'repeated_field',
  'unknown_field',
  'credential_invalid',
  'rate_limit_never_satisfiable',
  'rate_limit_unavailable',
] as const satisfies readonly ErrorCode[]

/** The responses of a route that tell of an error, by status, for the document. Those that all routes have alike are not here. */
export const errorResponses = (...codes: readonly ErrorCode[]) => {
  const byStatus = Map.groupBy([...atEveryRoute, ...codes], (code) => errorCodes[code].status)
  return Object.fromEntries(
    [...byStatus].map(([status, each]) => [
      status,
      { ...errorSchema(each), 'x-response-description': describeCodes(each) },
    ]),
  )
}

/** The body of an error that is one of these. */
export const errorSchema = (codes: readonly ErrorCode[]) =>
  Type.Object({
    error: Type.Object({
      code: Type.String({ enum: [...codes] }),
      message: Type.String({ description: 'For a person to read; may be reworded.' }),
      field: Type.Optional(Type.String({ description: 'The dotted path of the offending input.' })),
    }),
  })

export const describeCodes = (codes: readonly ErrorCode[]) =>
  codes.map((code) => `\`${code}\`: ${errorCodes[code].description}`).join('\n\n')
