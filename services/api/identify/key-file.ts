import type { ApiKeys, KeyRecord } from './api-keys.ts'
import { parseKeyLine } from './key-line.ts'

const MAX_PROBLEMS = 20

export type ParsedKeys =
  | { readonly ok: true; readonly keys: ApiKeys }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Reads the text of a file of keys, one JSON object a line: all of them, or every problem with its line. */
export const parseKeyFile = (text: string): ParsedKeys => {
  const keys = new Map<string, KeyRecord>()
  const problems: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = parseKeyLine(line)
    if (!parsed.ok) problems.push(...parsed.problems.map((problem) => `${index + 1} ${problem}`))
    else if (keys.has(parsed.record.keyId)) problems.push(`${index + 1} has the id of an earlier line`)
    else keys.set(parsed.record.keyId, parsed.record)
  }
  if (problems.length === 0) return { ok: true, keys }
  const shown = problems.slice(0, MAX_PROBLEMS)
  const more = problems.length - shown.length
  return { ok: false, problems: more > 0 ? [...shown, `… and ${more} more`] : shown }
}
