import { randomBytes } from 'node:crypto'
import type { CursorSecrets } from './cursor.ts'

const SHORTEST = 16

export type ParsedCursorSecrets =
  | { readonly ok: true; readonly secrets: CursorSecrets }
  | { readonly ok: false; readonly fault: string }

/** One secret a line. To rotate: add the new one as the last line everywhere, then make it the first, then drop the old one. */
export const parseCursorSecrets = (text: string): ParsedCursorSecrets => {
  const [first, ...others] = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  if (first === undefined) return { ok: false, fault: 'holds no secret: write one a line' }
  const short = [first, ...others].findIndex((secret) => secret.length < SHORTEST)
  if (short !== -1) return { ok: false, fault: `secret ${short + 1} has fewer than ${SHORTEST} characters` }
  return { ok: true, secrets: [first, ...others] }
}

/** For a process that is alone: its cursors end with it. */
export const randomCursorSecrets = (): CursorSecrets => [randomBytes(32).toString('base64url')]
