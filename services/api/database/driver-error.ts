import { DatabaseUnavailable, UniqueViolation } from './database.ts'

/** What PostgreSQL says of a statement that failed, over a socket or in process. */
type ServerError = Error & { readonly code: string; readonly severity: string; readonly constraint?: string }

// A system error has a code too, and some look like an SQLSTATE ('EPIPE'): only the server tells a severity.
const isServerError = (error: unknown): error is ServerError =>
  error instanceof Error &&
  'severity' in error &&
  typeof error.severity === 'string' &&
  'code' in error &&
  typeof error.code === 'string'

const UNIQUE_VIOLATION = '23505'

/** SQLSTATEs, or beginnings of them, that tell of the server's condition and not of the statement. */
const UNAVAILABLE = [
  '08', // connection exception
  '25006', // read-only: a standby, after a failover
  '25P03', // this process stood still in a transaction
  '28', // the credentials are not accepted (any more)
  '3D000', // the database is not there
  '53', // out of connections, memory, disk
  '55P03', // a lock was not to be had in time
  '57014', // the statement took too long
  '57P', // shutting down, starting up, crashed
  '58', // the server's system failed
]

/** The transaction gave way to a concurrent one and would succeed if it ran again. */
export const isBrokenOff = (error: unknown) =>
  isServerError(error) && (error.code === '40001' || error.code === '40P01')

/** Puts a driver's error into the words of this room. What is neither is a bug and stays as it is. */
export const translate = (error: unknown): unknown => {
  if (error instanceof TypeError || error instanceof RangeError) return error
  // Not from the server: refused, reset, timed out, closed.
  if (!isServerError(error)) return new DatabaseUnavailable(error)
  if (error.code === UNIQUE_VIOLATION) return new UniqueViolation(error.constraint ?? '', error)
  if (isBrokenOff(error) || UNAVAILABLE.some((state) => error.code.startsWith(state)))
    return new DatabaseUnavailable(error)
  return error
}
