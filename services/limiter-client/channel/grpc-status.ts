import type { AskFailure } from './question.ts'

const NAMES = [
  'OK',
  'CANCELLED',
  'UNKNOWN',
  'INVALID_ARGUMENT',
  'DEADLINE_EXCEEDED',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'PERMISSION_DENIED',
  'RESOURCE_EXHAUSTED',
  'FAILED_PRECONDITION',
  'ABORTED',
  'OUT_OF_RANGE',
  'UNIMPLEMENTED',
  'INTERNAL',
  'UNAVAILABLE',
  'DATA_LOSS',
  'UNAUTHENTICATED',
] as const

/** A gRPC status as a person reads it. */
export const describeStatus = (code: number, message: string) => {
  const name = NAMES[code] ?? `status ${code}`
  return message === '' ? name : `${name}: ${message}`
}

/** What the status of one check means to its asker. */
export const failureOf = (code: number): AskFailure => {
  switch (NAMES[code]) {
    case 'INVALID_ARGUMENT':
    case 'NOT_FOUND':
      return 'rejected'
    case 'DEADLINE_EXCEEDED':
      return 'deadline_exceeded'
    default:
      return 'unavailable'
  }
}
