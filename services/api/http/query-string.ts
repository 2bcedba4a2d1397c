import { apiError } from './api-error.ts'
import type { Layout, Place, Repeated } from './layout.ts'

export type QueryString = { readonly value: Readonly<Record<string, string>>; readonly layout: Layout }

/** Reads `name=value` pairs as a form writes them. Of a name that is there twice the layout tells. */
export const parseQueryString = (text: string): QueryString => {
  const members = new Map<string, Place>()
  const values = new Map<string, string>()
  const repeated: Repeated[] = []
  let start = 0
  for (const pair of text.split('&')) {
    if (pair !== '') {
      const [name = '', ...rest] = pair.split('=')
      const key = decode(name)
      const end = start + pair.length
      if (values.has(key)) repeated.push({ path: [key], start })
      values.set(key, decode(rest.join('=')))
      members.set(key, { start, end, members: new Map() })
    }
    start += pair.length + 1
  }
  return {
    value: Object.fromEntries(values),
    layout: { root: { start: 0, end: text.length, members }, repeated },
  }
}

const decode = (text: string) => {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw apiError(400, 'malformed_url', 'The URL has a % that does not begin an encoded UTF-8 character.')
  }
}
