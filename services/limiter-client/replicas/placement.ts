import { hashText, mix } from './hash.ts'

/** A place may have this much more than the mean of all, and so many questions above that, before others take over. */
const BALANCE = 1.25
const SLACK = 8

/** One of the places among which questions are distributed. */
export type Place = {
  /** Of its name, so that every client of the same limiters prefers the same. */
  readonly hash: number
  /** Questions of late. */
  load: number
}

export const openPlace = (name: string): Place => ({ hash: hashText(name), load: 0 })

/**
 * Rendezvous hashing with bounded loads: each subject ranks the places by a hash of both and takes the best that does not
 * have far more than the others. So a subject's questions meet at one place; a place that comes or goes takes or leaves only
 * its own subjects; and a subject that asks for far more than a fair part spills over to the next in its ranking.
 */
export const choosePlace = <P extends Place>(places: readonly P[], subject: number): P | undefined => {
  let total = 0
  for (const { load } of places) total += load
  const bound = (BALANCE * (total + 1)) / places.length + SLACK
  let best: P | undefined
  let bestRank = -1
  for (const place of places) {
    if (place.load >= bound) continue
    const rank = mix(place.hash, subject)
    if (rank <= bestRank) continue
    best = place
    bestRank = rank
  }
  return best
}
