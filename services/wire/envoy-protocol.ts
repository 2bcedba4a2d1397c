import type { RateLimitServiceDefinition } from './gen/envoy/service/ratelimit/v3/RateLimitService.ts'
import { loadProtocol, protoDir } from './protocol.ts'

export type { RateLimitRequest__Output } from './gen/envoy/service/ratelimit/v3/RateLimitRequest.ts'
export type { RateLimitServiceDefinition }

export const envoyFile = 'envoy/service/ratelimit/v3/rls.proto'

const envoyProtocol = loadProtocol([envoyFile], [protoDir])

// As in protocol.ts.
export const rateLimitServiceV3 = envoyProtocol[
  'envoy.service.ratelimit.v3.RateLimitService'
] as unknown as RateLimitServiceDefinition
