import type { Answer } from '../contract/decision.ts'
import { answerBytes, readAnswer, writeAnswer } from './answer-bytes.ts'
import { BYTES, createMessageReader, type MessageReader, NUMBER, tagOf } from './message-reader.ts'
import { createMessageWriter, textBytes, textFieldBytes, varintBytes } from './message-writer.ts'
import { MAX_FRAME_BYTES } from './protocol.ts'

const DECISIONS = tagOf(1, BYTES)
const DRAINING = tagOf(2, NUMBER)
const ID = tagOf(1, NUMBER)
const DECISION = tagOf(2, BYTES)
const ERROR = tagOf(3, BYTES)
const CODE = tagOf(1, NUMBER)
const MESSAGE = tagOf(2, BYTES)

/** What one check of a stream is answered with: an answer, or a gRPC status code. */
export type StreamDecision =
  | { readonly id: number; readonly ok: true; readonly answer: Answer }
  | { readonly id: number; readonly ok: false; readonly code: number; readonly message: string }

export type DecisionFrame = {
  readonly decisions: readonly StreamDecision[]
  /** The limiter is going away: send it no more, what was asked is still answered. */
  readonly draining: boolean
}

const writer = createMessageWriter()

/** The decisions in as few frames as the limit of bytes allows. */
export const encodeDecisionFrames = (decisions: readonly StreamDecision[]): readonly Buffer[] => {
  const frames: Buffer[] = []
  for (const decision of decisions) {
    const resultBytes = decision.ok ? answerBytes(decision.answer) : errorBytes(decision)
    const bytes = 1 + varintBytes(decision.id) + textFieldBytes(resultBytes)
    const fieldBytes = textFieldBytes(bytes)
    if (writer.written() > 0 && writer.written() + fieldBytes > MAX_FRAME_BYTES) frames.push(writer.finish())
    writer.reserve(fieldBytes)
    writer.message(DECISIONS, bytes)
    writer.number(ID, decision.id)
    writer.message(decision.ok ? DECISION : ERROR, resultBytes)
    if (decision.ok) writeAnswer(writer, decision.answer)
    else {
      writer.number(CODE, decision.code)
      writer.text(MESSAGE, decision.message, textBytes(decision.message))
    }
  }
  if (writer.written() > 0) frames.push(writer.finish())
  return frames
}

const errorBytes = ({ code, message }: { readonly code: number; readonly message: string }) =>
  1 + varintBytes(code) + textFieldBytes(textBytes(message))

export const encodeDrainingFrame = (): Buffer => {
  writer.number(DRAINING, 1)
  return writer.finish()
}

/** `undefined` when the bytes are no DecisionFrame. */
export const decodeDecisionFrame = (bytes: Buffer): DecisionFrame | undefined => {
  const reader = createMessageReader(bytes)
  const decisions: StreamDecision[] = []
  let draining = false
  try {
    while (reader.at() < bytes.length) {
      const tag = reader.varint(bytes.length)
      if (tag === DECISIONS) decisions.push(readDecision(reader, reader.end(bytes.length)))
      else if (tag === DRAINING) draining = reader.varint(bytes.length) !== 0
      else reader.skip(tag, bytes.length)
    }
    return { decisions, draining }
  } catch {
    return undefined
  }
}

/** gRPC's status INTERNAL. */
const INTERNAL = 13
const UNKNOWN = {
  ok: false,
  code: INTERNAL,
  message: 'the limiter answered something that this version does not know',
} as const

type Result =
  | { readonly ok: true; readonly answer: Answer }
  | { readonly ok: false; readonly code: number; readonly message: string }

const readDecision = (reader: MessageReader, end: number): StreamDecision => {
  let id = 0
  let result: Result = UNKNOWN
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === ID) id = reader.varint(end) >>> 0
    else if (tag === DECISION) {
      const answer = readAnswer(reader, reader.end(end))
      result = answer === undefined ? UNKNOWN : { ok: true, answer }
    } else if (tag === ERROR) result = readError(reader, reader.end(end))
    else reader.skip(tag, end)
  }
  return result.ok ? { id, ok: true, answer: result.answer } : { id, ...result }
}

const readError = (reader: MessageReader, end: number): Result => {
  let code = 0
  let message = ''
  while (reader.at() < end) {
    const tag = reader.varint(end)
    if (tag === CODE) code = reader.varint(end)
    else if (tag === MESSAGE) message = reader.text(reader.end(end))
    else reader.skip(tag, end)
  }
  return { ok: false, code, message }
}
