import { connect, createServer, type Socket } from 'node:net'

/** Between a client and a limiter, a network that the test can break without either of them being told. */
export const openTcpProxy = async (targetPort: number) => {
  const pairs = new Set<readonly [Socket, Socket]>()
  const server = createServer((client) => {
    const limiter = connect(targetPort, '127.0.0.1')
    const pair = [client, limiter] as const
    pairs.add(pair)
    client.pipe(limiter)
    limiter.pipe(client)
    for (const socket of pair) {
      socket.on('error', () => {})
      socket.on('close', () => {
        pairs.delete(pair)
        for (const one of pair) one.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const bound = server.address()
  return {
    port: typeof bound === 'object' && bound !== null ? bound.port : 0,
    connections: () => pairs.size,
    /** The connections that there are pass nothing on any more, and nobody hears of it; new ones are as good as ever. */
    loseConnections: () => {
      for (const [client, limiter] of pairs) {
        client.unpipe(limiter)
        limiter.unpipe(client)
        client.pause()
        limiter.pause()
      }
    },
    [Symbol.asyncDispose]: async () => {
      for (const pair of pairs) for (const socket of pair) socket.destroy()
      server.close()
    },
  }
}
