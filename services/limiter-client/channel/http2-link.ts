import { type ClientHttp2Session, connect, type IncomingHttpHeaders } from 'node:http2'
import { connect as connectSocket, isIP, Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { MAX_FRAME_BYTES } from '../../wire/protocol.ts'
import { createMessageReader, withHead } from './grpc-messages.ts'
import { describeStatus } from './grpc-status.ts'
import type { Link, LinkEvents } from './link.ts'

/** This end's side of TLS, as PEM. */
export type TlsMaterial = {
  /** Whom it believes; absent: the authorities that Node knows. */
  readonly ca?: string | undefined
  /** The certificate that it shows, and its key; absent: none. */
  readonly identity?: { readonly cert: string; readonly key: string } | undefined
}

/** Where a limiter listens. */
export type Endpoint = { readonly host: string; readonly port: number } | { readonly path: string }

type Options = {
  readonly endpoint: Endpoint
  /** The name that the limiter is asked by, which its certificate must be for. */
  readonly serverName: string
  /** The method that is called: `/package.Service/Method`. */
  readonly method: string
  /** Absent: without TLS. */
  readonly tls: TlsMaterial | undefined
}

/**
 * gRPC by Node's own HTTP/2. grpc-js would be the library for it, but it neither tells a stream that its connection is going
 * away, nor limits the time of connecting, nor closes a socket on which nobody ever spoke; and a frame costs it twice the CPU.
 */
export const openHttp2Link = (options: Options, events: LinkEvents): Link => {
  const { tls, serverName, method } = options
  const session = connect(`${tls === undefined ? 'http' : 'https'}://${authorityOf(serverName)}`, {
    createConnection: () => openSocket(options),
  })
  let stream: ReturnType<ClientHttp2Session['request']> | undefined
  let status: string | undefined
  let hasEnded = false

  const end = (reason: string) => {
    if (hasEnded) return
    hasEnded = true
    session.destroy()
    events.onEnd(reason)
  }
  const read = createMessageReader({ maxBytes: MAX_FRAME_BYTES, onMessage: events.onMessage, onFault: end })

  const takeStatus = (headers: IncomingHttpHeaders) => {
    const code = headers['grpc-status']
    if (code !== undefined) status = describeStatus(Number(code), decodeMessage(headers['grpc-message']))
  }

  const openStream = () => {
    if (hasEnded) return
    stream = session.request({
      ':method': 'POST',
      ':path': method,
      ':authority': authorityOf(serverName),
      'content-type': 'application/grpc',
      te: 'trailers',
    })
    stream.on('response', (headers) => {
      if (headers[':status'] !== 200) end(`HTTP status ${headers[':status']}: what is there speaks no gRPC`)
      takeStatus(headers)
    })
    stream.on('trailers', takeStatus)
    stream.on('data', read)
    stream.on('drain', () => hasEnded || events.onRoom())
    stream.on('error', (error) => end(error.message))
    stream.on('close', () => end(status ?? 'the stream was closed'))
    events.onOpen()
  }

  session.once('remoteSettings', openStream)
  session.on('goaway', () => hasEnded || events.onGoAway())
  session.on('error', (error) => end(error.message))
  session.on('close', () => end('the connection was closed'))

  return {
    send: (message) => stream?.write(withHead(message)) ?? false,
    ping: () => {
      if (!session.destroyed && !session.closed) session.ping((error) => error !== null || hasEnded || events.onPong())
    },
    finish: () => stream?.end(),
    [Symbol.dispose]: () => {
      hasEnded = true
      session.destroy()
    },
  }
}

const openSocket = ({ endpoint, serverName, tls }: Options): Socket => {
  if (tls === undefined) return connectSocket(endpoint)
  const { ca, identity } = tls
  // An address may not be sent as a name; the certificate is then checked for the endpoint's.
  const named = isIP(serverName) === 0 ? { servername: serverName } : {}
  try {
    return connectTls({ ...endpoint, ...named, ...identity, ca, ALPNProtocols: ['h2'], minVersion: 'TLSv1.2' })
  } catch (error) {
    // Certificates that Node cannot read.
    return new Socket().destroy(error as Error)
  }
}

/** A host's name or address as an URL has it; the port is none of the limiter's business. */
const authorityOf = (host: string) => (host.includes(':') ? `[${host}]` : host)

/** gRPC escapes what a header cannot hold. */
const decodeMessage = (text: string | string[] | undefined) => {
  const escaped = String(text ?? '')
  try {
    return decodeURIComponent(escaped)
  } catch {
    return escaped
  }
}
