import { Type } from 'typebox'
import type { ErrorCode } from '../http/error-codes.ts'
import { describeCodes, errorSchema } from '../http/error-responses.ts'
import { type CommonHeader, quotaHeaders, referToHeaders, refusalHeaders } from './common-headers.ts'

const errorResponse = (code: ErrorCode, ...headers: readonly CommonHeader[]) => ({
  description: describeCodes([code]),
  headers: { ...quotaHeaders, ...referToHeaders(...headers) },
  content: { 'application/json': { schema: errorSchema([code]) } },
})

const limitExceeded = Type.Object(
  { error: Type.String({ description: 'Says how many seconds to wait.' }) },
  { additionalProperties: false },
)

/** Responses that are alike wherever they come from. */
export const commonResponses = {
  PathNotFound: errorResponse('path_not_found'),
  MethodNotAllowed: errorResponse('method_not_allowed', 'Allow'),
  RequestTimeout: errorResponse('request_timeout'),
  UrlTooLong: errorResponse('url_too_long'),
  ExpectationFailed: errorResponse('expectation_failed'),
  TooManyRequests: {
    description: 'The rate limit is exceeded. What is refused costs nothing.',
    headers: refusalHeaders,
    content: {
      'application/json': {
        schema: limitExceeded,
        example: { error: 'Rate limit exceeded: retry after 7 seconds.' },
      },
    },
  },
  HeadersTooLarge: errorResponse('headers_too_large'),
  InternalError: errorResponse('internal_error'),
}

const atEveryRoute: Readonly<Record<string, keyof typeof commonResponses>> = {
  408: 'RequestTimeout',
  414: 'UrlTooLong',
  417: 'ExpectationFailed',
  429: 'TooManyRequests',
  431: 'HeadersTooLarge',
  500: 'InternalError',
}

const headersByStatus: Readonly<Record<string, readonly CommonHeader[]>> = {
  401: ['WWW-Authenticate'],
  503: ['Retry-After'],
}

type Response = { readonly headers?: Readonly<Record<string, object>>; readonly $ref?: string }
type Operation = { readonly responses: Readonly<Record<string, Response>> }
type PathItem = Readonly<Record<string, Operation>>

/** Adds to what the routes say of themselves what becomes of every request on its way to them. */
export const withCommonResponses = <Document extends { readonly paths?: object }>(document: Document): Document => {
  const paths = (document.paths ?? {}) as Readonly<Record<string, PathItem>>
  return { ...document, paths: mapValues(paths, (item) => mapValues(item, completeOperation)) }
}

const completeOperation = (operation: Operation): Operation => ({
  ...operation,
  responses: {
    ...Object.fromEntries(
      Object.entries(operation.responses).map(([status, response]) => [status, completeResponse(status, response)]),
    ),
    ...mapValues(atEveryRoute, (name) => ({ $ref: `#/components/responses/${name}` })),
  },
})

const completeResponse = (status: string, response: Response): Response => ({
  ...response,
  headers: { ...response.headers, ...quotaHeaders, ...referToHeaders(...(headersByStatus[status] ?? [])) },
})

const mapValues = <From, To>(record: Readonly<Record<string, From>>, map: (value: From) => To) =>
  Object.fromEntries(Object.entries(record).map(([name, value]): [string, To] => [name, map(value)]))
