import { createHash } from 'node:crypto'
import { cutOpaque } from '../../platform/opaque.ts'

const DIGEST_DIGITS = 8
const MAX_LENGTH = 100

/**
 * A subject as it is shown to people. Some APIs charge requests to the caller's key itself, so a long opaque part is cut, and the first eight
 * digits of the whole subject's SHA-256 tell who it is to whoever knows it.
 */
export const shownSubject = (subject: string) => {
  const shown = cutOpaque(subject).slice(0, MAX_LENGTH)
  if (shown === subject) return shown
  return `${shown} (sha256 ${createHash('sha256').update(subject).digest('hex').slice(0, DIGEST_DIGITS)})`
}
