import type { ErrorCode, StatusOf } from './error-codes.ts'

/** A request that fails, as its client sees it. A handler throws it; the app's error handler renders it. */
export class ApiError extends Error {
  readonly status: number
  readonly code: ErrorCode
  /** The dotted path of the offending input: `items.0.quantity`. */
  readonly field: string | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(fault: {
    readonly status: number
    readonly code: ErrorCode
    readonly message: string
    readonly field: string | undefined
    readonly headers: Readonly<Record<string, string>>
  }) {
    super(fault.message)
    this.name = 'ApiError'
    this.status = fault.status
    this.code = fault.code
    this.field = fault.field
    this.headers = fault.headers
  }
}

/** The compiler holds the status to the one that the catalogue promises for the code. */
export const apiError = <Code extends ErrorCode>(
  status: StatusOf<Code>,
  code: Code,
  message: string,
  field?: string,
): ApiError => new ApiError({ status, code, message, field, headers: {} })

export const withHeaders = (error: ApiError, headers: Readonly<Record<string, string>>) =>
  new ApiError({ ...error, message: error.message, headers: { ...error.headers, ...headers } })

/** The one shape of every error's body. */
export type ErrorBody = {
  readonly error: { readonly code: ErrorCode; readonly message: string; readonly field?: string }
}

export const errorBody = ({ code, message, field }: ApiError): ErrorBody => ({
  error: { code, message, ...(field !== undefined && { field }) },
})
