import { formatTraceparent, parseTraceContext, type TraceContext } from '../contract/trace-context.ts'
import { BYTES, type MessageReader, NUMBER, tagOf } from './message-reader.ts'
import { type MessageWriter, textBytes, textFieldBytes, varintBytes } from './message-writer.ts'

const INDEX = tagOf(1, NUMBER)
const TRACEPARENT = tagOf(2, BYTES)
const TRACESTATE = tagOf(3, BYTES)

/** As a TracedCheck carries it; no text: none. */
export type TracedCheck = { readonly traceparent: string; readonly tracestate: string }

export const encodeTracedCheck = (context: TraceContext): TracedCheck => ({
  traceparent: formatTraceparent(context),
  tracestate: context.tracestate ?? '',
})

export const tracedCheckBytes = (index: number, { traceparent, tracestate }: TracedCheck) =>
  1 +
  varintBytes(index) +
  textFieldBytes(textBytes(traceparent)) +
  (tracestate === '' ? 0 : textFieldBytes(textBytes(tracestate)))

/** Writes a TracedCheck, for which `tracedCheckBytes` have to be reserved. */
export const writeTracedCheck = (writer: MessageWriter, index: number, { traceparent, tracestate }: TracedCheck) => {
  writer.number(INDEX, index)
  writer.text(TRACEPARENT, traceparent, textBytes(traceparent))
  if (tracestate !== '') writer.text(TRACESTATE, tracestate, textBytes(tracestate))
}

/** Reads a TracedCheck that ends there. */
export const readTracedCheck = (reader: MessageReader, end: number) => {
  let index = 0
  let traceparent = ''
  let tracestate = ''
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === INDEX) index = reader.varint(end)
    else if (tag === TRACEPARENT) traceparent = reader.text(reader.end(end))
    else if (tag === TRACESTATE) tracestate = reader.text(reader.end(end))
    else reader.skip(tag, end)
  }
  return { index, context: parseTraceContext(traceparent, tracestate) }
}
