import { type DecodedCheckFrame, decodeCheckFrame } from './check-frame.ts'
import { type DecisionFrame, decodeDecisionFrame } from './decision-frame.ts'
import { rateLimitService } from './protocol.ts'

const asItIs = (bytes: Buffer) => bytes

/** `ShouldAllowStream` as grpc-js takes it, for both ends: written are encoded frames, read are decoded ones. No decoder throws. */
export const shouldAllowStream = {
  path: rateLimitService.ShouldAllowStream.path,
  requestStream: true,
  responseStream: true,
  requestSerialize: asItIs,
  requestDeserialize: (bytes: Buffer): DecodedCheckFrame => decodeCheckFrame(bytes),
  responseSerialize: asItIs,
  responseDeserialize: (bytes: Buffer): DecisionFrame | undefined => decodeDecisionFrame(bytes),
} as const
