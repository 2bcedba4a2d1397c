/** A number from 0 (included) to 1 (excluded). Not for secrets. */
export type Randomness = () => number

export const systemRandomness: Randomness = Math.random
