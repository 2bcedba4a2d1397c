import type { ServerResponse } from 'node:http'
import { httpLimits } from './limits.ts'

/**
 * Holds no more than a bounded number of bytes for clients that do not read their answers: beyond it, the connections of
 * those that have kept theirs waiting for longest are closed. Each answer is announced before it is sent.
 */
export const boundUnreadAnswers = (maxBytes: number = httpLimits.unreadAnswerBytes) => {
  const unread = new Map<ServerResponse, number>()
  let bytesInAll = 0

  const forget = (response: ServerResponse) => {
    bytesInAll -= unread.get(response) ?? 0
    unread.delete(response)
  }

  return (response: ServerResponse, bytes: number) => {
    if (response.closed) return
    response.once('close', () => forget(response))
    unread.set(response, bytes)
    bytesInAll += bytes
    for (const [slowest] of unread) {
      if (bytesInAll <= maxBytes || slowest === response) return
      forget(slowest)
      slowest.destroy()
    }
  }
}
