import type { Check, ParsedCheck } from '../contract/check.ts'
import type { TraceContext } from '../contract/trace-context.ts'
import { checkBytes, writeCheck } from './check-bytes.ts'
import { readKnownCheck } from './known-check.ts'
import { BYTES, createMessageReader, NUMBER, tagOf } from './message-reader.ts'
import { createMessageWriter, textFieldBytes } from './message-writer.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_CHECKS, MAX_MESSAGE_BYTES } from './protocol.ts'
import {
  encodeTracedCheck,
  readTracedCheck,
  type TracedCheck,
  tracedCheckBytes,
  writeTracedCheck,
} from './traced-check.ts'

const FIRST_ID = tagOf(1, NUMBER)
const CHECKS = tagOf(2, BYTES)
const TRACED = tagOf(3, BYTES)
/** The most that `first_id` takes. */
const HEAD_BYTES = 6

export type EncodedChecks = {
  readonly frames: readonly Buffer[]
  /** The ids of checks that are over 64 KiB: they are in no frame. */
  readonly tooLarge: readonly number[]
}

const writer = createMessageWriter()

/**
 * The checks in as few frames as the limits allow, with ids that count up from `firstId`, modulo 2³². `traces`: what each of them
 * is part of; absent when none is part of anything.
 */
export const encodeCheckFrames = (
  firstId: number,
  checks: readonly Check[],
  traces?: readonly (TraceContext | undefined)[],
): EncodedChecks => {
  const frames: Buffer[] = []
  const tooLarge: number[] = []
  let held = 0
  const flush = () => {
    if (held > 0) frames.push(writer.finish())
    held = 0
  }
  for (const [index, check] of checks.entries()) {
    const bytes = checkBytes(check)
    if (bytes > MAX_MESSAGE_BYTES) {
      tooLarge.push(idAfter(firstId, index))
      // What follows begins a frame with an id of its own.
      flush()
      continue
    }
    const trace = traces?.[index]
    const traced = trace === undefined ? undefined : encodeTracedCheck(trace)
    const fieldBytes =
      textFieldBytes(bytes) + (traced === undefined ? 0 : textFieldBytes(tracedCheckBytes(MAX_FRAME_CHECKS, traced)))
    if (held === MAX_FRAME_CHECKS || writer.written() + fieldBytes > MAX_FRAME_BYTES) flush()
    writer.reserve(HEAD_BYTES + fieldBytes)
    if (held === 0) writer.number(FIRST_ID, idAfter(firstId, index))
    writer.message(CHECKS, bytes)
    writeCheck(writer, check)
    if (traced !== undefined) writeTraced(held, traced)
    held += 1
  }
  flush()
  return { frames, tooLarge }
}

const writeTraced = (index: number, traced: TracedCheck) => {
  writer.message(TRACED, tracedCheckBytes(index, traced))
  writeTracedCheck(writer, index, traced)
}

/** The id of the check `index` places after the one with `firstId`. */
export const idAfter = (firstId: number, index: number) => (firstId + index) >>> 0

export type DecodedCheckFrame =
  | {
      readonly ok: true
      readonly firstId: number
      readonly checks: readonly ParsedCheck[]
      /** By the place of the check; absent when none is part of a trace. */
      readonly traces: ReadonlyMap<number, TraceContext> | undefined
    }
  | { readonly ok: false; readonly problem: string }

const TOO_MANY_CHECKS = { ok: false, problem: `the frame holds more than ${MAX_FRAME_CHECKS} checks` } as const
const NO_FRAME = { ok: false, problem: 'the message is no CheckFrame of proto/weir/v1' } as const

/** Bytes that are no CheckFrame are a value; so is each check that breaks a limit. */
export const decodeCheckFrame = (bytes: Buffer): DecodedCheckFrame => {
  const reader = createMessageReader(bytes)
  const checks: ParsedCheck[] = []
  let firstId = 0
  let traces: Map<number, TraceContext> | undefined
  let traced = 0
  try {
    while (reader.at() < bytes.length) {
      const tag = reader.varint(bytes.length)
      if (tag === CHECKS) {
        if (checks.length === MAX_FRAME_CHECKS) return TOO_MANY_CHECKS
        checks.push(readKnownCheck(bytes, reader, reader.end(bytes.length)))
      } else if (tag === FIRST_ID) firstId = reader.varint(bytes.length) >>> 0
      else if (tag === TRACED && traced < MAX_FRAME_CHECKS) {
        traced += 1
        const { index, context } = readTracedCheck(reader, reader.end(bytes.length))
        if (context !== undefined && index < MAX_FRAME_CHECKS) {
          traces ??= new Map()
          traces.set(index, context)
        }
      } else reader.skip(tag, bytes.length)
    }
    return { ok: true, firstId, checks, traces }
  } catch {
    return NO_FRAME
  }
}
