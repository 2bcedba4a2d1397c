import { fileURLToPath } from 'node:url'
import { loadSync, type PackageDefinition } from '@grpc/proto-loader'
import type { AdminDefinition } from './gen/weir/v1/Admin.ts'
import type { RateLimitDefinition } from './gen/weir/v1/RateLimit.ts'

export type { AdminDefinition, RateLimitDefinition }

/** The folder of the interface definitions, and its files. */
export const protoDir = fileURLToPath(new URL('../../proto', import.meta.url))
export const adminFile = 'weir/v1/admin.proto'
export const weirFiles = ['weir/v1/rate_limit.proto', adminFile] as const

/** The services and messages of `.proto` files, as grpc-js takes them. */
export const loadProtocol = (files: readonly string[], includeDirs: readonly string[]): PackageDefinition =>
  loadSync([...files], { includeDirs: [...includeDirs], longs: Number, enums: String, arrays: true })

/** Everything in `proto/weir`. */
export const weirProtocol = loadProtocol(weirFiles, [protoDir])

// proto-loader finds a service by its name at run time; its generated types say what that name holds.
export const rateLimitService = weirProtocol['weir.v1.RateLimit'] as unknown as RateLimitDefinition
export const adminService = weirProtocol['weir.v1.Admin'] as unknown as AdminDefinition

/** Both ends refuse a larger message. */
export const MAX_MESSAGE_BYTES = 64 * 1024

/** A frame of a stream: both ends refuse one that is larger or that holds more checks. */
export const MAX_FRAME_BYTES = 1024 * 1024
export const MAX_FRAME_CHECKS = 1_000
