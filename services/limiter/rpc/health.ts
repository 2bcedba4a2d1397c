import type { handleUnaryCall, Server, ServerWritableStream } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import { service } from 'grpc-health-check'

type Status = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN'
type Question = { readonly service: string }
type Reply = { readonly status: Status }
type Watcher = ServerWritableStream<Question, Reply>

/** Streams that watch at once; a further one is refused. */
const MAX_WATCHERS = 1_000

export type Health = {
  readonly addToServer: (server: Server) => void
  readonly setStatus: (component: string, status: 'SERVING' | 'NOT_SERVING') => void
}

/**
 * grpc.health.v1 for a fixed list of components. Nothing is kept of a name that is none of them: the package's own implementation
 * remembers every name that was ever watched.
 */
export const createHealth = (components: readonly string[]): Health => {
  const statuses = new Map<string, Status>(components.map((name) => [name, 'SERVING']))
  const watchers = new Map<Watcher, string>()
  const statusOf = (component: string) => statuses.get(component) ?? 'SERVICE_UNKNOWN'

  const check: handleUnaryCall<Question, Reply> = ({ request }, respond) => {
    const known = statuses.get(request.service)
    if (known !== undefined) respond(null, { status: known })
    else
      respond({
        code: status.NOT_FOUND,
        details: `no such component; there are ${components.filter(Boolean).join(', ')}`,
      })
  }

  const watch = (call: Watcher) => {
    if (watchers.size >= MAX_WATCHERS) {
      call.emit('error', { code: status.RESOURCE_EXHAUSTED, details: `${MAX_WATCHERS} streams watch already` })
      return
    }
    const component = call.request.service
    // Of an unknown name only that it is unknown.
    watchers.set(call, statuses.has(component) ? component : '\u0000')
    for (const end of ['cancelled', 'close', 'error']) call.on(end, () => watchers.delete(call))
    call.write({ status: statusOf(component) })
  }

  return {
    addToServer: (server) => server.addService(service, { check, watch }),
    setStatus: (component, next) => {
      statuses.set(component, next)
      for (const [call, watched] of watchers) if (watched === component) call.write({ status: next })
    },
  }
}
