import { BYTES, type MessageReader, tagOf } from './message-reader.ts'

export const KEY = tagOf(1, BYTES)
export const VALUE = tagOf(2, BYTES)

/** Reads a key and its value, as entries of maps and of Envoy's descriptors are sent, that end there. */
export const readEntry = (reader: MessageReader, end: number) => {
  let key = ''
  let value = ''
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === KEY) key = reader.text(reader.end(end))
    else if (tag === VALUE) value = reader.text(reader.end(end))
    else reader.skip(tag, end)
  }
  return { key, value }
}
