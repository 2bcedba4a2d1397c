/** Longer than any credential that could be right. */
const MAX_TOKEN_LENGTH = 256

export type Credential =
  | { readonly kind: 'none' }
  | { readonly kind: 'bearer'; readonly token: string }
  | { readonly kind: 'malformed'; readonly problem: string }

/** Reads the lines of `Authorization`. The problem never repeats what was sent. */
export const readCredential = (lines: readonly string[]): Credential => {
  const [line] = lines
  if (line === undefined) return { kind: 'none' }
  if (lines.length > 1) return malformed('Send one Authorization header.')
  const scheme = /^[^ ]*/.exec(line)?.[0] ?? ''
  if (scheme.toLowerCase() !== 'bearer') return malformed('Send the API key as "Authorization: Bearer <key>".')
  // The token68 of RFC 9110, 11.2.
  const token = /^ +(?<token>[\w.~+/-]+=*) *$/.exec(line.slice(scheme.length))?.groups?.['token']
  if (token === undefined || token.length > MAX_TOKEN_LENGTH) return malformed('The bearer token is not an API key.')
  return { kind: 'bearer', token }
}

const malformed = (problem: string): Credential => ({ kind: 'malformed', problem })
