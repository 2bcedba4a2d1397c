/** A map whose bound also counts the length of its keys: who chooses them may choose long ones. Whoever adds makes room first. */
export type NamedMap<Key extends string, Value> = {
  readonly entries: ReadonlyMap<Key, Value>
  readonly hasRoom: () => boolean
  readonly set: (key: Key, value: Value) => void
  readonly delete: (key: Key) => boolean
}

/** Of usual keys so many fit that their number is the bound. */
const MAX_KEY_CHARS = 16_000_000

export const createNamedMap = <Key extends string, Value>(
  maxEntries: number,
  maxKeyChars = MAX_KEY_CHARS,
): NamedMap<Key, Value> => {
  const entries = new Map<Key, Value>()
  let keyChars = 0
  return {
    entries,
    hasRoom: () => entries.size < maxEntries && (keyChars < maxKeyChars || entries.size === 0),
    set: (key, value) => {
      if (!entries.has(key)) keyChars += key.length
      entries.set(key, value)
    },
    delete: (key) => {
      const existed = entries.delete(key)
      if (existed) keyChars -= key.length
      return existed
    },
  }
}
