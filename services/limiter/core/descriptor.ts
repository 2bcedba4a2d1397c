/** What Envoy says of a request: keys and values in order, of which a key may come twice. */
export type Entry = { readonly key: string; readonly value: string }

/** The attribute that has a descriptor's keys, in order: a policy that matches it is for descriptors of exactly this shape. */
export const DESCRIPTOR = 'descriptor'

/** `message_type,to_number`; in a key `,` is `%2c`. */
export const shapeOf = (keys: readonly string[]) =>
  keys.map((key) => key.replace(/[%,]/g, (character) => (character === ',' ? '%2c' : '%25'))).join()

/** The attribute of each key: its name, the second time with `#2` after it, and so on. */
export const attributeNames = (keys: readonly string[]): readonly string[] => {
  const seen = new Map<string, number>()
  return keys.map((key) => {
    const times = (seen.get(key) ?? 0) + 1
    seen.set(key, times)
    return times === 1 ? key : `${key}#${times}`
  })
}

/** A descriptor as the attributes of a check. */
export const attributesOf = (entries: readonly Entry[]): ReadonlyMap<string, string> => {
  const keys = entries.map(({ key }) => key)
  const names = attributeNames(keys)
  const attributes = new Map(entries.map(({ value }, index) => [names[index] ?? '', value]))
  return attributes.set(DESCRIPTOR, shapeOf(keys))
}
