import type { MessageTypeDefinition } from '@grpc/proto-loader'
import type { Check, ParsedCheck } from '../contract/check.ts'
import { decodeCheck, encodeCheck } from './check.ts'
import type { CheckFrame, CheckFrame__Output } from './gen/weir/v1/CheckFrame.ts'
import { MAX_FRAME_BYTES, MAX_FRAME_CHECKS, MAX_MESSAGE_BYTES, rateLimitService, weirProtocol } from './protocol.ts'

const { requestDeserialize } = rateLimitService.ShouldAllowStream
const { serialize } = weirProtocol['weir.v1.CheckFrame'] as MessageTypeDefinition<CheckFrame, CheckFrame__Output>

export type EncodedChecks = {
  readonly frames: readonly Buffer[]
  /** The ids of checks that are over 64 KiB: they are in no frame. */
  readonly tooLarge: readonly number[]
}

/** The checks in as few frames as the limits allow, with ids that count up from `firstId`, modulo 2³². */
export const encodeCheckFrames = (firstId: number, checks: readonly Check[]): EncodedChecks => {
  const frames: Buffer[] = []
  const tooLarge: number[] = []
  let start = 0
  let bytes = 0
  let pending: CheckFrame['checks'] & object = []
  const flush = (next: number) => {
    if (pending.length > 0) frames.push(serialize({ firstId: idAfter(firstId, start), checks: pending }))
    start = next
    bytes = 0
    pending = []
  }
  for (const [index, check] of checks.entries()) {
    const encoded = encodeCheck(check)
    const size = rateLimitService.ShouldAllow.requestSerialize(encoded).length
    if (size > MAX_MESSAGE_BYTES) {
      tooLarge.push(idAfter(firstId, index))
      flush(index + 1)
      continue
    }
    if (pending.length === MAX_FRAME_CHECKS || bytes + size + CHECK_HEAD_BYTES > MAX_FRAME_BYTES - FRAME_HEAD_BYTES)
      flush(index)
    pending.push(encoded)
    bytes += size + CHECK_HEAD_BYTES
  }
  flush(checks.length)
  return { frames, tooLarge }
}

/** Of `first_id`, and of a check's tag and length: the most that they take. */
const FRAME_HEAD_BYTES = 6
const CHECK_HEAD_BYTES = 6

/** The id of the check `index` places after the one with `firstId`. */
export const idAfter = (firstId: number, index: number) => (firstId + index) >>> 0

export type DecodedCheckFrame =
  | { readonly ok: true; readonly firstId: number; readonly checks: readonly ParsedCheck[] }
  | { readonly ok: false; readonly problem: string }

const TOO_MANY_CHECKS = { ok: false, problem: `the frame holds more than ${MAX_FRAME_CHECKS} checks` } as const
const NO_FRAME = { ok: false, problem: 'the message is no CheckFrame of proto/weir/v1' } as const

/** Bytes that are no CheckFrame are a value; so is each check that breaks a limit. */
export const decodeCheckFrame = (bytes: Buffer): DecodedCheckFrame => {
  try {
    const { firstId = 0, checks } = requestDeserialize(bytes)
    if (checks.length > MAX_FRAME_CHECKS) return TOO_MANY_CHECKS
    return { ok: true, firstId, checks: checks.map(decodeCheck) }
  } catch {
    return NO_FRAME
  }
}
