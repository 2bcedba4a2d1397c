/** What was made of messages, by their bytes, so that one that comes again need not be read again. */
export type CheckCache<Parsed> = {
  readonly get: (bytes: string) => Parsed | undefined
  readonly set: (bytes: string, parsed: Parsed) => void
}

/** Holds the `max` last used, and up to as many more: two generations, of which the older is dropped when the younger is full. */
export const createCheckCache = <Parsed>(max: number): CheckCache<Parsed> => {
  let young = new Map<string, Parsed>()
  let old = young
  const set: CheckCache<Parsed>['set'] = (bytes, parsed) => {
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

/** Of what is asked again and again, which most is; what is larger is read each time. */
export const MAX_KNOWN = 4_096
export const MAX_KNOWN_BYTES = 512
