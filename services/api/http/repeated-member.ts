type Level = { readonly names: Set<string> | undefined; at: string | number }

/** A string, or one of the characters that give JSON its structure; all else is skipped. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],]/g

/**
 * The dotted path of the first name that an object of a JSON text has twice (`items.0.sku`). `JSON.parse` keeps the last
 * of the two in silence. The text must be well-formed.
 */
export const findRepeatedMember = (text: string): string | undefined => {
  const levels: Level[] = []
  let expectsName = false
  for (const [token] of text.matchAll(TOKEN)) {
    const level = levels.at(-1)
    if (token === '{') levels.push({ names: new Set(), at: '' })
    else if (token === '[') levels.push({ names: undefined, at: 0 })
    else if (token === '}' || token === ']') levels.pop()
    else if (token === ',' && typeof level?.at === 'number') level.at += 1
    else if (expectsName && level?.names !== undefined) {
      level.at = String(JSON.parse(token))
      if (level.names.has(level.at)) return levels.map(({ at }) => at).join('.')
      level.names.add(level.at)
    }
    expectsName = token === '{' || (token === ',' && levels.at(-1)?.names !== undefined)
  }
  return undefined
}
