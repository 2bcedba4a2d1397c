import type { ParsedCheck } from '../contract/check.ts'
import type { Answer } from '../contract/decision.ts'
import { answerBytes, writeAnswer } from './answer-bytes.ts'
import { readKnownCheck } from './known-check.ts'
import { createMessageReader } from './message-reader.ts'
import { createMessageWriter } from './message-writer.ts'

/** The check of a ShouldAllowRequest; `undefined` when the bytes are none. */
export const decodeRequest = (bytes: Buffer): ParsedCheck | undefined => {
  try {
    return readKnownCheck(bytes, createMessageReader(bytes), bytes.length)
  } catch {
    return undefined
  }
}

const writer = createMessageWriter()

/** The answer as a ShouldAllowResponse. */
export const encodeResponse = (answer: Answer): Buffer => {
  writer.reserve(answerBytes(answer))
  writeAnswer(writer, answer)
  return writer.finish()
}
