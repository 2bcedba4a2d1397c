import type { Caller, Permission } from './identify/caller.ts'
import type { Identity } from './identify/identify.ts'

// What the app's own hooks add to Fastify's types.
declare module 'fastify' {
  interface FastifyRequest {
    /** Who sent it, and whom it is charged to. */
    identity: Identity
    caller: Caller
  }
  interface FastifyContextConfig {
    /** What a caller must be permitted. Every route that changes something states one. */
    permission?: Permission
  }
}
