import type { IncomingMessage } from 'node:http'

/** Every line of a header field, also of one that Node keeps only the first line of. The name is in lower case. */
export const headerLines = ({ rawHeaders }: IncomingMessage, name: string): readonly string[] => {
  const lines: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const fieldName = rawHeaders[at]
    if (fieldName?.length === name.length && fieldName.toLowerCase() === name) lines.push(rawHeaders[at + 1] ?? '')
  }
  return lines
}
