const byteOf = (character: string) => character.charCodeAt(0)
const [QUOTE, BACKSLASH] = [byteOf('"'), byteOf('\\')]
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [byteOf('['), byteOf(']'), byteOf('{'), byteOf('}')]

/**
 * Whether values stand within each other deeper than that, in bytes that may be no JSON at all. Told before they are parsed:
 * fifty thousand brackets cost `JSON.parse` 5 ms and megabytes, in which nobody else is served.
 */
export const nestsDeeperThan = (depth: number, bytes: Uint8Array): boolean => {
  let open = 0
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = endOfString(bytes, at)
    else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) {
      open += 1
      if (open > depth) return true
    } else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) open -= 1
  }
  return false
}

const endOfString = (bytes: Uint8Array, start: number) => {
  let at = start + 1
  for (; at < bytes.length && bytes[at] !== QUOTE; at += 1) if (bytes[at] === BACKSLASH) at += 1
  return at
}
