/**
 * Every error that a client can meet: its status and what it means. A code is a promise, its message is not.
 * The 429 is not here: it has a body of its own.
 */
export const errorCodes = {
  malformed_request: { status: 400, description: 'The request is not well-formed HTTP.' },
  malformed_url: { status: 400, description: 'The URL is not well-formed percent-encoded UTF-8.' },
  malformed_body: { status: 400, description: 'The body is not well-formed JSON, or nests deeper than 32 levels.' },
  repeated_field: { status: 400, description: 'A field or parameter is given twice.' },
  missing_field: { status: 400, description: 'A required field or parameter is missing.' },
  unknown_field: { status: 400, description: 'The request does not take this field or parameter.' },
  wrong_type: { status: 400, description: 'A field or parameter is of the wrong JSON type.' },
  cursor_invalid: {
    status: 400,
    description: 'The cursor is not one that this list gave out, with these filters.',
  },
  host_required: { status: 400, description: 'An HTTP/1.1 request names its host exactly once.' },
  credential_required: { status: 401, description: 'The request needs an API key.' },
  credential_invalid: { status: 401, description: 'The credential is malformed, or not one that is known.' },
  permission_denied: { status: 403, description: 'The API key does not permit this.' },
  rate_limit_never_satisfiable: {
    status: 403,
    description: 'The request costs more than its rate limit ever permits; waiting does not help.',
  },
  path_not_found: { status: 404, description: 'The API has no such path.' },
  order_not_found: { status: 404, description: 'The caller has no such order.' },
  method_not_allowed: {
    status: 405,
    description: 'The path does not answer this method; `Allow` lists those it does.',
  },
  request_timeout: { status: 408, description: 'The request did not arrive in time.' },
  order_reference_taken: { status: 409, description: 'Another order of the same owner has this reference.' },
  order_changed: { status: 409, description: 'The order is not any more what `If-Match` says it is.' },
  idempotency_key_in_use: {
    status: 409,
    description: 'A request with this `Idempotency-Key` is still running; retry after `Retry-After`.',
  },
  body_too_large: { status: 413, description: 'The body is larger than the server reads.' },
  url_too_long: { status: 414, description: 'The URL is longer than the server reads.' },
  media_type_unsupported: {
    status: 415,
    description: 'The body is of a type, or encoded in a way, that the path does not read.',
  },
  expectation_failed: { status: 417, description: 'The only expectation that can be met is `100-continue`.' },
  invalid_value: {
    status: 422,
    description: 'A field, parameter or header has the right type and a wrong value.',
  },
  order_state_impossible: { status: 422, description: 'An order in its state cannot enter the one asked for.' },
  idempotency_key_reused: {
    status: 422,
    description: 'This `Idempotency-Key` has been used for a request with another body.',
  },
  headers_too_large: { status: 431, description: 'The header fields are larger than the server reads.' },
  internal_error: { status: 500, description: 'The server failed. The fault is not in the request.' },
  rate_limit_unavailable: { status: 503, description: 'The request could not be counted; retry after `Retry-After`.' },
  database_unavailable: { status: 503, description: 'The orders cannot be reached; retry after `Retry-After`.' },
} as const satisfies Readonly<Record<string, { readonly status: number; readonly description: string }>>

export type ErrorCode = keyof typeof errorCodes
export type StatusOf<Code extends ErrorCode> = (typeof errorCodes)[Code]['status']
