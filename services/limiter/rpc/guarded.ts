import type { CallFault } from './status.ts'

/** Told of an error that only a mistake in the limiter can have made. */
export type OnBug = (error: unknown) => void

/** A bug that one request meets must not end the process for all others: that call gets INTERNAL. */
export const guarded = async <T>(answer: () => Promise<T | CallFault>, onBug: OnBug): Promise<T | CallFault> => {
  try {
    return await answer()
  } catch (error) {
    onBug(error)
    return { kind: 'bug' }
  }
}
