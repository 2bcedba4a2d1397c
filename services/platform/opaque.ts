/** A run that may be a key shows so many characters: it can be told from others, and used by nobody. */
const SHOWN = 8

/** A long run of letters and digits together. */
const OPAQUE = /[\w+=.~-]{20,}/g
const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/i

/** The text without what may be a credential in it; UUIDs are identifiers. For what people put where it does not belong. */
export const cutOpaque = (text: string) =>
  text.replace(OPAQUE, (part) => (isIdentifier(part) ? part : `${part.slice(0, SHOWN)}…`))

const isIdentifier = (part: string) => UUID.test(part) || !/\d/.test(part) || !/[a-z]/i.test(part)
