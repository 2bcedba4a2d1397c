/** Where a value stands in the text that it was read from. */
export type Place = {
  /** Of a member: where its name begins. */
  readonly start: number
  readonly end: number
  /** By name, or by index in an array. */
  readonly members: ReadonlyMap<string, Place>
}

export type Repeated = { readonly path: readonly string[]; readonly start: number }

export type Layout = {
  readonly root: Place
  /** Names that their object has already used, in the order of the text. */
  readonly repeated: readonly Repeated[]
}

/** Deeper than any schema looks: what is below stands under a field that is unknown or of a wrong type. */
const DEPTH = 8

/** No schema lets an array have more entries: the ones after stand in an array that is at fault as a whole. */
export const LONGEST_ARRAY = 1_000

const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],:]|[^\s"{}[\],:]+/g

type Token = { readonly text: string; readonly start: number }

/** The layout of a JSON text that `JSON.parse` has accepted: it tells what the parsed value has lost. */
export const jsonLayout = (text: string): Layout => {
  const token = new RegExp(TOKEN)
  const repeated: Repeated[] = []

  const next = (): Token => {
    const found = token.exec(text)
    return found === null ? { text: '', start: text.length } : { text: found[0], start: found.index }
  }

  const readValue = (first: Token, path: readonly string[]): Place => {
    const { start } = first
    if (first.text !== '{' && first.text !== '[') return { start, end: start + first.text.length, members: noMembers }
    if (path.length === DEPTH) return { start, end: skipContainer(), members: noMembers }
    const members = new Map<string, Place>()
    for (let inner = next(); ; inner = next()) {
      if (inner.text === '}' || inner.text === ']') return { start, end: inner.start, members }
      if (inner.text === ',' && first.text === '[' && members.size === LONGEST_ARRAY)
        return { start, end: skipContainer(), members }
      if (inner.text === ',') continue
      if (first.text === '[') members.set(String(members.size), readValue(inner, [...path, String(members.size)]))
      else readMember(inner, path, members)
    }
  }

  const readMember = (key: Token, path: readonly string[], members: Map<string, Place>) => {
    const name = String(JSON.parse(key.text))
    const memberPath = [...path, name]
    next() // the colon
    const { end, members: inner } = readValue(next(), memberPath)
    if (members.has(name)) repeated.push({ path: memberPath, start: key.start })
    // JSON.parse keeps the last of several.
    members.set(name, { start: key.start, end, members: inner })
  }

  /** To behind its end, which it returns. By characters, because there may be hundreds of thousands of tokens. */
  const skipContainer = () => {
    let open = 1
    for (let at = token.lastIndex; ; at += 1) {
      const character = text[at]
      if (character === '"') at = endOfString(text, at)
      else if (character === '{' || character === '[') open += 1
      else if (character === '}' || character === ']') open -= 1
      if (open > 0) continue
      token.lastIndex = at + 1
      return at
    }
  }

  return { root: readValue(next(), []), repeated }
}

const endOfString = (text: string, start: number) => {
  for (let at = start + 1; ; at += 1) {
    if (text[at] === '"') return at
    if (text[at] === '\\') at += 1
  }
}

const noMembers: ReadonlyMap<string, Place> = new Map()
