import { readFile, stat } from 'node:fs/promises'
import type { ApiKeys, KeyRecord } from './api-keys.ts'
import { parseKeyLine } from './key-line.ts'

/** Tens of thousands of keys; more belong into a database. */
const MAX_FILE_BYTES = 8 * 1024 * 1024
const MAX_PROBLEMS = 20

export type ReadKeys =
  | { readonly ok: true; readonly keys: ApiKeys }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Reads a file of keys, one JSON object a line: all of them, or every problem with its line. */
export const readKeyFile = async (path: string): Promise<ReadKeys> => {
  try {
    const { size } = await stat(path)
    if (size > MAX_FILE_BYTES) return reject([`${path} is larger than ${MAX_FILE_BYTES} bytes`])
    const parsed = parseKeyFile(await readFile(path, 'utf8'))
    return parsed.ok ? parsed : reject(parsed.problems.map((problem) => `${path}:${problem}`))
  } catch (error) {
    return reject([`${path} cannot be read: ${error instanceof Error ? error.message : String(error)}`])
  }
}

export const parseKeyFile = (text: string): ReadKeys => {
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
  return reject(problems.length > shown.length ? [...shown, `… and ${problems.length - shown.length} more`] : shown)
}

const reject = (problems: readonly string[]): ReadKeys => ({ ok: false, problems })
