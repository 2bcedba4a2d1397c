import { once } from 'node:events'
import { Agent, createServer, type IncomingHttpHeaders, request, type ServerResponse } from 'node:http'

/** What a planted fault does to traffic on its way. */
export type Tamper = {
  readonly answer?: (status: number, headers: IncomingHttpHeaders) => IncomingHttpHeaders
  /** Refuses at the door with 503 when so many requests are under way. */
  readonly maxUnderWay?: number
}

export type Ingress = AsyncDisposable & {
  readonly url: string
  readonly setTargets: (ports: readonly number[]) => void
}

/** One address in front of all APIs, each asked in turn, as an ingress does it. Nothing is ever sent twice. */
export const startIngress = async (tamper: Tamper = {}): Promise<Ingress> => {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 })
  let targets: readonly number[] = []
  let turn = 0
  let underWay = 0

  const server = createServer((incoming, outgoing) => {
    turn += 1
    const port = targets[turn % targets.length]
    if (port === undefined || underWay >= (tamper.maxUnderWay ?? Number.POSITIVE_INFINITY)) {
      outgoing.writeHead(503).end()
      return
    }
    underWay += 1
    outgoing.once('close', () => {
      underWay -= 1
    })
    const { method, url: path, headers } = incoming
    const passed = request({ host: '127.0.0.1', port, method, path, headers, agent }, (answer) => {
      const status = answer.statusCode ?? 502
      outgoing.writeHead(status, tamper.answer?.(status, answer.headers) ?? answer.headers)
      answer.pipe(outgoing)
      answer.once('error', () => outgoing.destroy())
    })
    passed.once('error', () => fail(outgoing))
    incoming.pipe(passed)
  })
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the ingress has no port')

  return {
    url: `http://127.0.0.1:${address.port}`,
    setTargets: (ports) => {
      targets = ports
    },
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const fail = (outgoing: ServerResponse) => {
  if (outgoing.headersSent) outgoing.destroy()
  else outgoing.writeHead(502).end()
}
