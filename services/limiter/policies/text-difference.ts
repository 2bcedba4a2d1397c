import { createTwoFilesPatch } from 'diff'
import type { PolicyFile } from './problem.ts'

/** Nobody reads more, and finding it would keep checks waiting. */
const MAX_CHARACTERS = 512 * 1024
const MAX_CHANGED_LINES = 2_000
const TIMEOUT_MS = 500

/** How the files of one side become those of the other, line by line, as `diff -u` shows it; undefined when that is too much to show. */
export const textDifference = (
  before: readonly PolicyFile[],
  after: readonly PolicyFile[],
): Promise<string | undefined> => {
  const [old, fresh] = [textOf(before), textOf(after)]
  if (old.length + fresh.length > MAX_CHARACTERS) return Promise.resolve(undefined)
  if (old === fresh) return Promise.resolve('')
  return new Promise((resolve) => {
    createTwoFilesPatch('live', 'candidate', old, fresh, undefined, undefined, {
      context: 3,
      maxEditLength: MAX_CHANGED_LINES,
      timeout: TIMEOUT_MS,
      // Step by step between other work of the process.
      callback: resolve,
    })
  })
}

/** One text of all; their names are where they lie, and tell nothing of what they say. */
const textOf = (files: readonly PolicyFile[]) => files.map(({ text }) => `${text.trimEnd()}\n`).join('---\n')
