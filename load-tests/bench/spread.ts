/** Which of the clients asks next. */
export type Spread = 'uniform' | 'zipf' | 'one' | 'empty'

export const CLIENTS = 1_000
/** Has so much that it is never refused, however often it asks. */
export const HOT_CLIENT = 'user:hot'
/** Has nothing any more. */
export const EMPTY_CLIENT = 'user:empty'

/** `zipf`: the k-th client asks in proportion to 1/k. */
export const createPick = (spread: Spread, random: () => number): (() => string) => {
  switch (spread) {
    case 'uniform':
      return () => `user:${Math.floor(random() * CLIENTS)}`
    case 'zipf':
      return () => `user:${firstAbove(zipfSums, random() * (zipfSums.at(-1) ?? 0))}`
    case 'one':
      return () => HOT_CLIENT
    case 'empty':
      return () => EMPTY_CLIENT
  }
}

const zipfSums: readonly number[] = (() => {
  let sum = 0
  return Array.from({ length: CLIENTS }, (_, index) => (sum += 1 / (index + 1)))
})()

/** Of rising values the index of the first one above this one, by halving. */
const firstAbove = (rising: readonly number[], value: number) => {
  let [low, high] = [0, rising.length - 1]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((rising[middle] ?? 0) > value) high = middle
    else low = middle + 1
  }
  return low
}
