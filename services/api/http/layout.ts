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

/** The layout of a JSON text that `JSON.parse` has accepted: it tells what the parsed value has lost. */
export const jsonLayout = (text: string): Layout => {
  const tokens = text.matchAll(TOKEN)
  const repeated: Repeated[] = []

  const next = () => {
    const { value } = tokens.next()
    return value === undefined ? { text: '', start: text.length } : { text: value[0], start: value.index }
  }

  const readValue = (token: { readonly text: string; readonly start: number }, path: readonly string[]): Place => {
    const { start } = token
    if (token.text !== '{' && token.text !== '[') return { start, end: start + token.text.length, members: noMembers }
    if (path.length === DEPTH) return { start, end: skipContainer(), members: noMembers }
    const members = new Map<string, Place>()
    for (let inner = next(); ; inner = next()) {
      if (inner.text === '}' || inner.text === ']') return { start, end: inner.start, members }
      if (inner.text === ',' && token.text === '[' && members.size === LONGEST_ARRAY)
        return { start, end: skipContainer(), members }
      if (inner.text === ',') continue
      if (token.text === '[') members.set(String(members.size), readValue(inner, [...path, String(members.size)]))
      else readMember(inner, path, members)
    }
  }

  const readMember = (
    key: { readonly text: string; readonly start: number },
    path: readonly string[],
    members: Map<string, Place>,
  ) => {
    const name = String(JSON.parse(key.text))
    const memberPath = [...path, name]
    next() // the colon
    const { end, members: inner } = readValue(next(), memberPath)
    if (members.has(name)) repeated.push({ path: memberPath, start: key.start })
    // JSON.parse keeps the last of several.
    members.set(name, { start: key.start, end, members: inner })
  }

  const skipContainer = () => {
    for (let open = 1; ; ) {
      const { text: token, start } = next()
      if (token === '{' || token === '[') open += 1
      if (token === '}' || token === ']') open -= 1
      if (open === 0) return start
    }
  }

  return { root: readValue(next(), []), repeated }
}

const noMembers: ReadonlyMap<string, Place> = new Map()
