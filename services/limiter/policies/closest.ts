/** Among more names than these a guess is worth little, and costs much. */
const MAX_CANDIDATES = 50

/** The candidate that differs from the word by no more than a slip of the finger, if there is one. */
export const closest = (word: string, candidates: readonly string[]) => {
  if (candidates.length > MAX_CANDIDATES) return undefined
  const typed = fold(word)
  const allowed = Math.max(1, Math.floor(typed.length / 4))
  let best: { readonly candidate: string; readonly edits: number } | undefined
  for (const candidate of candidates) {
    const edits = editsBetween(typed, fold(candidate), allowed)
    if (edits <= allowed && (best === undefined || edits < best.edits)) best = { candidate, edits }
  }
  return best?.candidate
}

// on_store_failure is onStoreFailure.
const fold = (word: string) => word.toLowerCase().replace(/[-_]/g, '')

/** Letters inserted, removed, replaced, or swapped with their neighbour (optimal string alignment); any number above `most` if more. */
const editsBetween = (from: string, to: string, most: number) => {
  if (Math.abs(from.length - to.length) > most) return Number.POSITIVE_INFINITY
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = (last[column - 1] ?? 0) + (from[row - 1] === to[column - 1] ? 0 : 1)
      const isSwap = row > 1 && column > 1 && from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      const swapped = isSwap ? (beforeLast[column - 2] ?? 0) + 1 : replaced
      current.push(Math.min((last[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1, replaced, swapped))
    }
    if (Math.min(...current) > most && Math.min(...last) > most) return Number.POSITIVE_INFINITY
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}
