/** The candidate that differs from the word by no more than a slip of the finger, if there is one. */
export const closest = (word: string, candidates: readonly string[]) => {
  const typed = fold(word)
  const allowed = Math.max(1, Math.floor(typed.length / 4))
  // The difference is at least that of the lengths; most candidates, and words of any length, need no table.
  const near = candidates.filter((candidate) => Math.abs(fold(candidate).length - typed.length) <= allowed)
  const [best] = near
    .map((candidate) => ({ candidate, edits: editsBetween(typed, fold(candidate)) }))
    .filter(({ edits }) => edits <= allowed)
    .sort((a, b) => a.edits - b.edits)
  return best?.candidate
}

// on_store_failure is onStoreFailure.
const fold = (word: string) => word.toLowerCase().replace(/[-_]/g, '')

/** Letters inserted, removed, replaced, or swapped with their neighbour (optimal string alignment). */
const editsBetween = (from: string, to: string) => {
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: to.length + 1 }, (_, column) => column)
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= to.length; column += 1) {
      const same = from[row - 1] === to[column - 1]
      const swapped = from[row - 1] === to[column - 2] && from[row - 2] === to[column - 1]
      current.push(
        Math.min(
          (last[column] ?? 0) + 1,
          (current[column - 1] ?? 0) + 1,
          (last[column - 1] ?? 0) + (same ? 0 : 1),
          swapped && row > 1 && column > 1 ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
        ),
      )
    }
    beforeLast = last
    last = current
  }
  return last[to.length] ?? 0
}
