// What clients do that mean it ill, each at a stated rate. Their connections come from many addresses of this machine.
import { connect, type Socket } from 'node:net'

/** Where to, and as whom: a key, or nobody. */
export type Target = { readonly port: number; readonly key?: string }

export type Attack = {
  readonly claim: string
  /** What each of its answers is; beyond the attacker's allowance it is 429. */
  readonly status: number
  /** How often it is made. */
  readonly perS: number
  /** The statuses of its answers. */
  readonly run: (target: Target) => Promise<readonly number[]>
}

/** What stands for as long as the attack lasts. */
export type Siege = {
  readonly claim: string
  /** What its answers may be. */
  readonly statuses: readonly number[]
  readonly connections: number
  readonly open: (target: Target) => Socket
}

const ADDRESSES = 64
let connectionsMade = 0

const connectFromAnywhere = (port: number) => {
  connectionsMade += 1
  const socket = connect({ port, host: '127.0.0.1', localAddress: `127.1.0.${1 + (connectionsMade % ADDRESSES)}` })
  socket.on('error', () => {})
  return socket
}

const head = ({ key }: Target, method: string, path: string, ...lines: readonly string[]) =>
  `${[
    `${method} ${path} HTTP/1.1`,
    'Host: test',
    ...(key === undefined ? [] : [`Authorization: Bearer ${key}`]),
    ...lines,
  ].join('\r\n')}\r\n\r\n`

const JSON_TYPE = 'Content-Type: application/json'
const postOf = (body: string) => (target: Target) =>
  head(target, 'POST', '/v1/orders', JSON_TYPE, `Content-Length: ${body.length}`) + body
const postStart = (target: Target, ...lines: readonly string[]) =>
  head(target, 'POST', '/v1/orders', JSON_TYPE, ...lines)

export const statusesIn = (text: string) =>
  [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

type Sending = {
  readonly first: string
  /** Sent again and again until the connection closes. */
  readonly endless?: string
  /** Answers after which the connection is left; else the server must close it. */
  readonly answers?: number
}

const converse = (port: number, { first, endless, answers = Number.POSITIVE_INFINITY }: Sending) =>
  new Promise<readonly number[]>((resolve) => {
    const socket = connectFromAnywhere(port)
    let received = ''
    socket.setEncoding('latin1').on('data', (text) => {
      received += text
      if (statusesIn(received).length >= answers) socket.destroy()
    })
    socket.once('close', () => resolve(statusesIn(received)))
    socket.write(first)
    if (endless === undefined) return
    const pump = () => {
      while (!socket.destroyed && socket.write(endless));
    }
    socket.on('drain', pump)
    pump()
  })

type Conversation = readonly [claim: string, status: number, bytes: (target: Target) => string]

const PER_S = 5

const once = ([claim, status, bytes]: Conversation): Attack => ({
  claim,
  status,
  perS: PER_S,
  run: (target) => converse(target.port, { first: bytes(target), answers: 1 }),
})

/** As `once`, and then a unit that is sent until the server has enough. */
const endless = ([claim, status, first]: Conversation, unit: string): Attack => ({
  claim,
  status,
  perS: 1,
  run: (target) => converse(target.port, { first: first(target), endless: unit }),
})

const PIPELINED = 200
const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const entries = Array.from({ length: 40_000 }, () => '{}').join()
const chunked = (target: Target) => postStart(target, 'Transfer-Encoding: chunked')

/** Over as soon as it is answered. */
export const attacks: readonly Attack[] = [
  once(['20 KB of header', 431, (target) => head(target, 'GET', '/v1/orders', `X-Large: ${'x'.repeat(20_000)}`)]),
  once([
    'two thousand header fields',
    431,
    (target) => head(target, 'GET', '/v1/orders', ...Array<string>(2_000).fill('a: b')),
  ]),
  endless(['a header without an end', 431, () => 'GET /v1/orders HTTP/1.1\r\n'], `X-More: ${'x'.repeat(1_000)}\r\n`),
  once(['an id of 4 KB', 404, (target) => head(target, 'GET', `/v1/orders/${'x'.repeat(4_000)}`)]),
  once(['an id of 9 KB', 414, (target) => head(target, 'GET', `/v1/orders/${'x'.repeat(9_000)}`)]),
  once(['bytes that are no HTTP', 400, () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03']),
  endless(['a body of 100 MB', 413, (target) => postStart(target, 'Content-Length: 100000000')], 'x'.repeat(65_536)),
  endless(['a body without an end', 413, chunked], chunkOf('x'.repeat(65_536))),
  endless(['a body in single bytes', 413, chunked], chunkOf('x').repeat(2_000)),
  once(['fifty thousand brackets', 400, postOf('['.repeat(50_000) + ']'.repeat(50_000))]),
  once(['a hundred thousand brackets, not closed', 400, postOf('['.repeat(100_000))]),
  once(['brackets within a field', 400, postOf(`{"items":${'['.repeat(50_000)}${']'.repeat(50_000)}}`)]),
  once(['forty thousand wrong entries', 422, postOf(`{"currency":"EUR","items":[${entries}]}`)]),
  once(['a field __proto__', 400, postOf('{"__proto__":{"currency":"XXX"},"items":[]}')]),
  once(['__proto__ within a field', 400, postOf('{"currency":"EUR","items":[{"__proto__":{"sku":"X"}}]}')]),
  once(['a field constructor', 400, postOf('{"constructor":{"prototype":{"currency":"XXX"}}}')]),
  {
    claim: `${PIPELINED} requests at once on one connection`,
    status: 404,
    perS: 1,
    run: (target) =>
      converse(target.port, { first: head(target, 'GET', '/v1/orders/none').repeat(PIPELINED), answers: PIPELINED }),
  },
]

const slowly = (socket: Socket, unit: string) => {
  const timer = setInterval(() => socket.write(unit), 1_000)
  socket.once('close', () => clearInterval(timer))
}

/** Many open connections that do as little as can be. */
export const sieges: readonly Siege[] = [
  {
    claim: 'headers of a byte a second',
    statuses: [408, 429],
    connections: 300,
    open: ({ port }) => {
      const socket = connectFromAnywhere(port)
      socket.write('GET /v1/orders HTTP/1.1\r\nX-Slow: ')
      slowly(socket, 'x')
      return socket
    },
  },
  {
    claim: 'bodies of a byte a second',
    statuses: [408],
    connections: 100,
    open: (target) => {
      const socket = connectFromAnywhere(target.port)
      socket.write(postStart(target, 'Content-Length: 1000'))
      slowly(socket, ' ')
      return socket
    },
  },
  {
    claim: 'connections that are idle after an answer',
    statuses: [200, 429],
    connections: 3_000,
    open: ({ port }) => {
      const socket = connectFromAnywhere(port)
      socket.write(head({ port }, 'GET', '/v1/orders?limit=1'))
      return socket
    },
  },
  {
    claim: 'requests, many at once, whose answers are never read',
    statuses: [],
    connections: 40,
    open: ({ port }) => {
      const socket = connectFromAnywhere(port).pause()
      // Nearly as many fields as there may be: what waits its turn should cost the server as much as it can.
      const fields = Array<string>(900).fill('a: b')
      socket.write(head({ port }, 'GET', '/v1/openapi.json', ...fields).repeat(20))
      return socket
    },
  },
]
