import type { ServerResponse } from 'node:http'
import type { Timers } from '../seams/timers.ts'
import { type AdminPage, text } from './admin-server.ts'

/** What a listener has not read may wait; one that reads nothing is let go. */
const MAX_UNREAD_BYTES = 256 * 1024

/** Tells everybody who listens the same, as server-sent events. Nothing runs while nobody does. */
export type EventStream = Disposable & {
  /** A page instead when there are too many already. */
  readonly attach: (response: ServerResponse) => AdminPage | undefined
}

type Options = {
  /** What is told, as JSON. */
  readonly read: () => unknown
  readonly everyMs: number
  readonly maxListeners: number
  readonly timers: Timers
}

export const createEventStream = ({ read, everyMs, maxListeners, timers }: Options): EventStream => {
  const listeners = new Set<ServerResponse>()
  let callOff: (() => void) | undefined

  const event = () => `data: ${JSON.stringify(read())}\n\n`

  const tellAll = () => {
    const told = event()
    for (const listener of listeners) {
      if (listener.writableLength > MAX_UNREAD_BYTES) listener.destroy()
      else listener.write(told)
    }
  }

  const wait = () => {
    callOff = timers.after(everyMs, () => {
      tellAll()
      wait()
    })
  }

  const stop = () => {
    callOff?.()
    callOff = undefined
  }

  return {
    attach: (response) => {
      if (listeners.size >= maxListeners)
        return { ...text(503, `${maxListeners} listen already: close another page`), headers: { 'retry-after': '5' } }
      response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
      response.write(event())
      listeners.add(response)
      response.once('close', () => {
        listeners.delete(response)
        if (listeners.size === 0) stop()
      })
      if (callOff === undefined) wait()
      return undefined
    },
    [Symbol.dispose]: () => {
      stop()
      for (const listener of listeners) listener.end()
    },
  }
}
