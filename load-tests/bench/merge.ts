import type { Results } from './results.ts'

/** Several runs of different parts as one; of what several have measured the later one counts. */
export const mergeResults = (all: readonly Results[]): Results => {
  const rows = all.flatMap((results) => results.rows)
  const latest = new Map(rows.map((row) => [`${row.load} ${row.way}`, row]))
  return { ...Object.assign({}, ...all), runs: all.flatMap(({ runs }) => runs), rows: [...latest.values()] }
}
