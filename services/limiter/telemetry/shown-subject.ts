import { createHash } from 'node:crypto'

/** Where a subject shows so many characters of an opaque part, it can be told from others and used by nobody. */
const SHOWN = 8
const MAX_LENGTH = 100

/** A UUID is an identifier; another long run of letters and digits together may be a key. */
const OPAQUE = /[\w+/=.~-]{20,}/g
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/**
 * A subject as it is shown to people. Some APIs charge requests to the caller's key itself, so a long opaque part is cut, and the first eight
 * digits of the whole subject's SHA-256 tell who it is to whoever knows it.
 */
export const shownSubject = (subject: string) => {
  const shown = subject
    .replace(OPAQUE, (part) => (isIdentifier(part) ? part : `${part.slice(0, SHOWN)}…`))
    .slice(0, MAX_LENGTH)
  return shown === subject
    ? shown
    : `${shown} (sha256 ${createHash('sha256').update(subject).digest('hex').slice(0, SHOWN)})`
}

const isIdentifier = (part: string) => UUID.test(part) || !/\d/.test(part) || !/[a-z]/i.test(part)
