import { fileURLToPath } from 'node:url'
import { loadSync, type PackageDefinition } from '@grpc/proto-loader'
import type { AdminDefinition } from './gen/weir/v1/Admin.ts'
import type { RateLimitDefinition } from './gen/weir/v1/RateLimit.ts'

const protoDir = fileURLToPath(new URL('../../proto', import.meta.url))

/** Every message and service of `proto/weir`, as grpc-js and its reflection service take them. */
export const packageDefinition: PackageDefinition = loadSync(['weir/v1/rate_limit.proto', 'weir/v1/admin.proto'], {
  includeDirs: [protoDir],
  longs: Number,
  enums: String,
  arrays: true,
})

// proto-loader finds a service by its name at run time; its generated types say what that name holds.
export const rateLimitService = packageDefinition['weir.v1.RateLimit'] as unknown as RateLimitDefinition
export const adminService = packageDefinition['weir.v1.Admin'] as unknown as AdminDefinition

/** Both ends refuse a larger message. */
export const MAX_MESSAGE_BYTES = 64 * 1024
