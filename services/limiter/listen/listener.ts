import { lookup } from 'node:dns/promises'
import { createServer, isIP, type ListenOptions, type Server, type Socket } from 'node:net'
import { createServer as createTlsServer, type TLSSocket, type TlsOptions } from 'node:tls'
import { createCrowd } from './crowd.ts'
import { removeStaleSocket, restrictSocket } from './unix-socket.ts'

/** Connections at once to one address; a further one is closed at once. */
const MAX_CONNECTIONS = 4_096
/** From one address: nobody alone keeps all others out. */
const MAX_CONNECTIONS_FROM_ADDRESS = 1_024
const HANDSHAKE_MS = 5_000

/** What the server shows, and whom of its clients it believes; as PEM. */
export type ServerTls = {
  readonly cert: string
  readonly key: string
  /** Present: a client without a certificate of it gets no connection. */
  readonly clientCa: string | undefined
}

/** A connection that ended in its TLS handshake; of some nobody can say any more where they came from. */
export type Refused = { readonly error: Error; readonly peer: string | undefined }

type Options = {
  /** `host:port` or `unix:/path`. Port 0 lets the system choose. */
  readonly target: string
  /** For TCP; who may use a Unix socket is said by its folder and its mode. */
  readonly tls: ServerTls | undefined
  readonly onConnection: (socket: Socket) => void
  readonly onRefused: (refused: Refused) => void
}

export type Listener = Disposable & {
  readonly port: number
  /** For connections from now on; those that are there keep what they have. */
  readonly renew: (tls: ServerTls) => void
  /** Accepts no more; resolves when the last connection has ended. */
  readonly stop: () => Promise<void>
}

export type OpenListener =
  | { readonly ok: true; readonly listener: Listener }
  | { readonly ok: false; readonly error: Error }

/** Accepts connections until it is stopped; disposing of it also ends those that are left. */
export const openListener = async ({ target, ...options }: Options): Promise<OpenListener> => {
  const servers: Server[] = []
  const sockets = new Set<Socket>()
  const renewals: ((tls: ServerTls) => void)[] = []
  let port = 0
  const stop = async () => {
    await Promise.all(servers.map((server) => new Promise<unknown>((resolve) => server.close(resolve))))
  }
  try {
    for (const address of await addressesOf(target)) {
      const { serve, renew } = createReception(options)
      const crowd = createCrowd(MAX_CONNECTIONS_FROM_ADDRESS)
      const server = createServer((socket) => {
        if (!crowd.admit(socket)) return void socket.destroy()
        sockets.add(socket)
        // What goes wrong with a connection ends it; whoever serves it sees that.
        socket.on('error', () => {})
        socket.once('close', () => sockets.delete(socket))
        serve(socket)
      })
      server.maxConnections = MAX_CONNECTIONS
      servers.push(server)
      renewals.push(renew)
      port = await listen(server, address.port === 0 ? { ...address, port } : address)
    }
  } catch (error) {
    void stop()
    return { ok: false, error: error instanceof Error ? error : new Error(String(error)) }
  }
  return {
    ok: true,
    listener: {
      port,
      renew: (tls) => {
        for (const renew of renewals) renew(tls)
      },
      stop,
      [Symbol.dispose]: () => {
        void stop()
        for (const socket of sockets) socket.destroy()
      },
    },
  }
}

type Reception = { readonly serve: (socket: Socket) => void; readonly renew: (tls: ServerTls) => void }

const createReception = ({ tls, onConnection, onRefused }: Omit<Options, 'target'>): Reception => {
  if (tls === undefined) return { serve: onConnection, renew: () => {} }
  const server = createTlsServer({
    ...secured(tls),
    ALPNProtocols: ['h2'],
    handshakeTimeout: HANDSHAKE_MS,
    requestCert: tls.clientCa !== undefined,
    rejectUnauthorized: tls.clientCa !== undefined,
  })
  server.on('secureConnection', (socket: TLSSocket) => {
    // A client that offers no protocol at all would be taken for HTTP/1.
    socket.on('error', () => {})
    if (socket.alpnProtocol === 'h2') onConnection(socket)
    else socket.destroy()
  })
  server.on('tlsClientError', (error, socket) => onRefused({ error, peer: socket.remoteAddress }))
  return {
    serve: (socket) => void server.emit('connection', socket),
    renew: (next) => server.setSecureContext(secured(next)),
  }
}

const secured = ({ cert, key, clientCa }: ServerTls): TlsOptions => ({
  cert,
  key,
  minVersion: 'TLSv1.2',
  ...(clientCa !== undefined && { ca: clientCa }),
})

type ListenAddress = ListenOptions & { readonly port?: number }

/** A name may stand for several addresses: `localhost` for an IPv4 and an IPv6 one. */
const addressesOf = async (target: string): Promise<readonly ListenAddress[]> => {
  if (target.startsWith('unix:')) return [{ path: target.slice('unix:'.length) }]
  const colon = target.lastIndexOf(':')
  const host = target.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
  const port = Number(target.slice(colon + 1))
  if (isIP(host) !== 0) return [{ host, port }]
  return (await lookup(host, { all: true })).map(({ address }) => ({ host: address, port }))
}

const listen = async (server: Server, { path, ...address }: ListenAddress) => {
  if (path !== undefined) await removeStaleSocket(path)
  const listening = Promise.withResolvers<void>()
  server.once('error', listening.reject)
  server.listen(path === undefined ? address : { path }, listening.resolve)
  await listening.promise
  server.off('error', listening.reject)
  if (path !== undefined) await restrictSocket(path)
  const bound = server.address()
  return typeof bound === 'object' && bound !== null ? bound.port : 0
}
