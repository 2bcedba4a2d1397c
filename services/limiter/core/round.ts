/**
 * Gives a map's entries one after the other, round and round, and nothing of an empty map. Entries may come and go meanwhile. An iterator
 * made anew for each would have to step over all that was deleted before the first: in a map that is kept at its bound, most of its time.
 */
export const roundOf = <Key, Value>(map: ReadonlyMap<Key, Value>): (() => readonly [Key, Value] | undefined) => {
  let cursor = map.entries()
  return () => {
    const next = cursor.next()
    if (next.done !== true) return next.value
    // Once it has come to the end it stays there.
    cursor = map.entries()
    return cursor.next().value
  }
}
