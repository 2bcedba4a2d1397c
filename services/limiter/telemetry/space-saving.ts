/** Finds the most frequent of any number of keys in bounded memory. */
export type SpaceSaving = {
  readonly add: (key: string) => void
  /** The keys that are remembered, most frequent first. */
  readonly read: () => readonly Frequent[]
  /** How often a key that is not remembered may have come at most. */
  readonly missedAtMost: () => number
}

/** It came at least and at most so many times. */
export type Frequent = { readonly key: string; readonly atLeast: number; readonly atMost: number }

/**
 * The Space-Saving algorithm of A. Metwally, D. Agrawal and A. El Abbadi, "Efficient Computation of Frequent and Top-k Elements in Data
 * Streams" (ICDT 2005): a new key takes the place of the least frequent one and inherits its count as its possible error, which is at
 * most 1/maxKeys of all additions. Keys are kept in the order of their counts, so the key that an addition raises only changes
 * places with the first one of its old count: a search, and no allocation for a key that is remembered.
 */
export const createSpaceSaving = (maxKeys: number): SpaceSaving => {
  const places = new Map<string, number>()
  const keys: string[] = []
  const counts: number[] = []
  const errors: number[] = []

  const firstWith = (count: number) => {
    let [low, high] = [0, keys.length - 1]
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((counts[middle] ?? 0) > count) low = middle + 1
      else high = middle
    }
    return low
  }

  const put = (place: number, key: string, count: number, error: number) => {
    keys[place] = key
    counts[place] = count
    errors[place] = error
    places.set(key, place)
  }

  const raise = (key: string, from: number, count: number, error: number) => {
    const to = firstWith(count)
    if (to !== from) put(from, keys[to] ?? '', counts[to] ?? 0, errors[to] ?? 0)
    put(to, key, count + 1, error)
  }

  return {
    add: (key) => {
      const place = places.get(key)
      if (place !== undefined) return raise(key, place, counts[place] ?? 0, errors[place] ?? 0)
      if (keys.length < maxKeys) {
        put(keys.length, key, 0, 0)
        return raise(key, keys.length - 1, 0, 0)
      }
      const last = maxKeys - 1
      const inherited = counts[last] ?? 0
      places.delete(keys[last] ?? '')
      put(last, key, inherited, inherited)
      raise(key, last, inherited, inherited)
    },
    read: () =>
      keys.map((key, place) => {
        const atMost = counts[place] ?? 0
        return { key, atLeast: atMost - (errors[place] ?? 0), atMost }
      }),
    missedAtMost: () => (keys.length < maxKeys ? 0 : (counts[maxKeys - 1] ?? 0)),
  }
}

/** What several of them have seen together: a key may have been missed by those that do not remember it. */
export const mergeFrequent = (sketches: readonly SpaceSaving[]): readonly Frequent[] => {
  const missedByAll = sketches.reduce((sum, sketch) => sum + sketch.missedAtMost(), 0)
  const merged = new Map<string, { atLeast: number; atMost: number }>()
  for (const sketch of sketches)
    for (const { key, atLeast, atMost } of sketch.read()) {
      const known = merged.get(key) ?? { atLeast: 0, atMost: missedByAll }
      merged.set(key, {
        atLeast: known.atLeast + atLeast,
        atMost: known.atMost + atMost - sketch.missedAtMost(),
      })
    }
  return [...merged].map(([key, range]) => ({ key, ...range })).sort((a, b) => b.atMost - a.atMost)
}
