/** The way from the top of a document to a value: names of fields, places in lists. */
export type Path = readonly PropertyKey[]

/** A mistake in a document, before anybody knows on which line the document has that path. */
export type Fault = {
  readonly path: Path
  /** Whether the name of the field is at fault, or what it holds. */
  readonly at: 'key' | 'value'
  readonly problem: string
}

export const valueFault = (path: Path, problem: string): Fault => ({ path, at: 'value', problem })
export const keyFault = (path: Path, problem: string): Fault => ({ path, at: 'key', problem })

/** `policies[2].match.plan`; a name that is not plain is quoted: `overrides[0]["user id"]`. */
export const formatPath = (path: Path) => path.map(formatPart).join('').replace(/^\./, '')

const PLAIN_NAME = /^[A-Za-z_][\w-]{0,63}$/

const formatPart = (part: PropertyKey) => {
  if (typeof part === 'number') return `[${part}]`
  const name = String(part)
  return PLAIN_NAME.test(name) ? `.${name}` : `[${quote(name)}]`
}

/** A text out of a file, fit for one line of a message. */
export const quote = (text: string) => JSON.stringify(text.length > 64 ? `${text.slice(0, 64)}…` : text)

/** Names in one line; of many, the first. */
export const enumerate = (names: readonly string[]) =>
  names.length <= MANY ? names.join(', ') : `${names.slice(0, MANY).join(', ')} and ${names.length - MANY} more`

const MANY = 10
