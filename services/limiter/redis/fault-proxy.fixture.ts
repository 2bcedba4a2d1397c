/** Between limiters and their store a network that is slow, cuts answers short or ends connections, as the test says. */
import { connect, createServer, type Socket } from 'node:net'

/**
 * `slow`: each answer is held back for so long. `cut`: of each answer one byte arrives, then the connection ends. `reset`: whoever
 * connects is thrown out.
 */
export type Trouble =
  | { readonly kind: 'none' | 'cut' | 'reset' }
  | { readonly kind: 'slow'; readonly delayMs: () => number }

export const openFaultProxy = async (target: { readonly host: string; readonly port: number }) => {
  const pairs = new Set<readonly [Socket, Socket]>()
  let trouble: Trouble = { kind: 'none' }
  let accepted = 0
  const server = createServer((asking) => {
    accepted += 1
    asking.on('error', () => {})
    if (trouble.kind === 'reset') return void asking.resetAndDestroy()
    const answering = connect(target)
    const pair = [asking, answering] as const
    pairs.add(pair)
    for (const socket of pair) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        for (const one of pair) one.destroy()
      })
    }
    asking.pipe(answering)
    const held: { readonly dueMs: number; readonly bytes: Buffer }[] = []
    // In order, as TCP is: two timers may fire in any.
    const release = () => {
      const [first] = held
      if (first === undefined) return
      const waitMs = first.dueMs - performance.now()
      if (waitMs > 0) return void setTimeout(release, waitMs + 1)
      held.shift()
      asking.write(first.bytes)
      release()
    }
    answering.on('data', (bytes) => {
      if (trouble.kind === 'cut') return void asking.end(bytes.subarray(0, 1))
      held.push({ dueMs: performance.now() + (trouble.kind === 'slow' ? trouble.delayMs() : 0), bytes })
      if (held.length === 1) release()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    /** Connections that were asked for so far. */
    accepted: () => accepted,
    set: (next: Trouble) => {
      trouble = next
      if (next.kind === 'reset') for (const [asking] of pairs) asking.resetAndDestroy()
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      for (const [asking] of pairs) asking.destroy()
    },
  }
}
