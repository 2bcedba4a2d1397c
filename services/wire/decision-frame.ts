import type { MessageTypeDefinition } from '@grpc/proto-loader'
import type { Answer } from '../contract/decision.ts'
import { decodeAnswer, encodeAnswer } from './answer.ts'
import type { DecisionFrame__Output, DecisionFrame as DecisionFrameIn } from './gen/weir/v1/DecisionFrame.ts'
import type { StreamDecision__Output, StreamDecision as StreamDecisionIn } from './gen/weir/v1/StreamDecision.ts'
import { MAX_FRAME_BYTES, rateLimitService, weirProtocol } from './protocol.ts'

const { responseDeserialize } = rateLimitService.ShouldAllowStream
const { serialize } = weirProtocol['weir.v1.DecisionFrame'] as MessageTypeDefinition<
  DecisionFrameIn,
  DecisionFrame__Output
>
const one = weirProtocol['weir.v1.StreamDecision'] as MessageTypeDefinition<StreamDecisionIn, StreamDecision__Output>

/** What one check of a stream is answered with: an answer, or a gRPC status code. */
export type StreamDecision =
  | { readonly id: number; readonly ok: true; readonly answer: Answer }
  | { readonly id: number; readonly ok: false; readonly code: number; readonly message: string }

export type DecisionFrame = {
  readonly decisions: readonly StreamDecision[]
  /** The limiter is going away: send it no more, what was asked is still answered. */
  readonly draining: boolean
}

/** The decisions in as few frames as the limit of bytes allows. */
export const encodeDecisionFrames = (decisions: readonly StreamDecision[]): readonly Buffer[] => {
  const frames: Buffer[] = []
  let bytes = 0
  let pending: StreamDecisionIn[] = []
  const flush = () => {
    if (pending.length > 0) frames.push(serialize({ decisions: pending }))
    bytes = 0
    pending = []
  }
  for (const decision of decisions) {
    const encoded = encodeOne(decision)
    const size = one.serialize(encoded).length + DECISION_HEAD_BYTES
    if (bytes + size > MAX_FRAME_BYTES) flush()
    pending.push(encoded)
    bytes += size
  }
  flush()
  return frames
}

/** Of a decision's tag and length: the most that they take. */
const DECISION_HEAD_BYTES = 6

const encodeOne = (decision: StreamDecision): StreamDecisionIn =>
  decision.ok
    ? { id: decision.id, decision: encodeAnswer(decision.answer) }
    : { id: decision.id, error: { code: decision.code, message: decision.message } }

export const encodeDrainingFrame = (): Buffer => serialize({ draining: true })

/** `undefined` when the bytes are no DecisionFrame. */
export const decodeDecisionFrame = (bytes: Buffer): DecisionFrame | undefined => {
  try {
    const { decisions, draining = false } = responseDeserialize(bytes)
    return { decisions: decisions.map(decodeOne), draining }
  } catch {
    return undefined
  }
}

/** gRPC's status INTERNAL. */
const INTERNAL = 13

const decodeOne = ({ id = 0, decision, error }: StreamDecision__Output): StreamDecision => {
  if (error !== undefined) return { id, ok: false, code: error.code ?? 0, message: error.message ?? '' }
  const answer = decision === undefined ? undefined : decodeAnswer(decision)
  return answer === undefined
    ? { id, ok: false, code: INTERNAL, message: 'the limiter answered something that this version does not know' }
    : { id, ok: true, answer }
}
