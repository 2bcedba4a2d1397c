import { type Check, type ParsedCheck, parseCheck } from '../contract/check.ts'
import { KEY, readEntry, VALUE } from './entry.ts'
import { BYTES, type MessageReader, NUMBER, tagOf } from './message-reader.ts'
import { type MessageWriter, textBytes, textFieldBytes, varintBytes } from './message-writer.ts'

const DOMAIN = tagOf(1, BYTES)
const ATTRIBUTES = tagOf(2, BYTES)
const COST = tagOf(3, NUMBER)
const REQUEST_ID = tagOf(4, BYTES)

const entryBytes = (keyBytes: number, valueBytes: number) => textFieldBytes(keyBytes) + textFieldBytes(valueBytes)

/** How many bytes the check takes as a ShouldAllowRequest. */
export const checkBytes = ({ domain, attributes, cost, requestId }: Check) => {
  let bytes = textFieldBytes(textBytes(domain)) + 1 + varintBytes(cost)
  for (const [key, value] of attributes) bytes += textFieldBytes(entryBytes(textBytes(key), textBytes(value)))
  return requestId === undefined ? bytes : bytes + textFieldBytes(textBytes(requestId))
}

/** Writes the check as a ShouldAllowRequest, for which `checkBytes` have to be reserved. */
export const writeCheck = (writer: MessageWriter, { domain, attributes, cost, requestId }: Check) => {
  writer.text(DOMAIN, domain, textBytes(domain))
  for (const [key, value] of attributes) {
    const [keyBytes, valueBytes] = [textBytes(key), textBytes(value)]
    writer.message(ATTRIBUTES, entryBytes(keyBytes, valueBytes))
    writer.text(KEY, key, keyBytes)
    writer.text(VALUE, value, valueBytes)
  }
  writer.number(COST, cost)
  if (requestId !== undefined) writer.text(REQUEST_ID, requestId, textBytes(requestId))
}

/** Reads a ShouldAllowRequest that ends there. */
export const readCheck = (reader: MessageReader, end: number): ParsedCheck => {
  let domain = ''
  const attributes = new Map<string, string>()
  let cost: number | undefined
  let requestId: string | undefined
  while (reader.at() < end) {
    const tag = reader.varint(end)
    switch (tag) {
      case DOMAIN:
        domain = reader.text(reader.end(end))
        break
      case ATTRIBUTES: {
        const { key, value } = readEntry(reader, reader.end(end))
        attributes.set(key, value)
        break
      }
      case COST:
        // Not cut down to 32 bits: a cost of 2³² would be one of 0 then.
        cost = reader.varint(end)
        break
      case REQUEST_ID:
        requestId = reader.text(reader.end(end))
        break
      default:
        reader.skip(tag, end)
    }
  }
  return parseCheck({ domain, attributes, cost, requestId })
}
