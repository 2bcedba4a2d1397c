import type { ParsedCheck } from '../contract/check.ts'

/** Checks by their bytes, so that a client asked about again need not be read again. */
export type CheckCache = {
  readonly get: (bytes: string) => ParsedCheck | undefined
  readonly set: (bytes: string, parsed: ParsedCheck) => void
}

/** Holds the `max` last used, and up to as many more: two generations, of which the older is dropped when the younger is full. */
export const createCheckCache = (max: number): CheckCache => {
  let young = new Map<string, ParsedCheck>()
  let old = young
  const set: CheckCache['set'] = (bytes, parsed) => {
    if (young.size >= max) {
      old = young
      young = new Map()
    }
    young.set(bytes, parsed)
  }
  return {
    get: (bytes) => {
      const found = young.get(bytes)
      if (found !== undefined) return found
      const older = old.get(bytes)
      if (older !== undefined) set(bytes, older)
      return older
    },
    set,
  }
}
