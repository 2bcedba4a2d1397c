import { connect, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { httpLimits } from './http/connection/limits.ts'

/** Where to, and as whom: a key, or nobody. */
export type Target = { readonly port: number; readonly key?: string }

export type Attack = {
  readonly claim: string
  /** The statuses of its answers. */
  readonly run: (target: Target) => Promise<readonly number[]>
  /** What each of them is, as long as the attacker's allowance lasts. */
  readonly status: number
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

const statusesIn = (text: string) => [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status))

type Sending = {
  readonly first: string
  /** Sent again and again until the connection closes. */
  readonly endless?: string
  /** Answers after which the connection is left; else the server must close it. */
  readonly answers?: number
}

const converse = (port: number, { first, endless, answers = Number.POSITIVE_INFINITY }: Sending) =>
  new Promise<readonly number[]>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    let received = ''
    socket.setEncoding('latin1').on('data', (text) => {
      received += text
      if (statusesIn(received).length >= answers) socket.destroy()
    })
    socket.on('error', () => {})
    socket.once('close', () => resolve(statusesIn(received)))
    socket.write(first)
    if (endless === undefined) return
    const pump = () => {
      while (!socket.destroyed && socket.write(endless));
    }
    socket.on('drain', pump)
    pump()
  })

const once = (claim: string, status: number, bytes: (target: Target) => string): Attack => ({
  claim,
  status,
  run: (target) => converse(target.port, { first: bytes(target), answers: 1 }),
})

const endless = (claim: string, status: number, first: (target: Target) => string, unit: string): Attack => ({
  claim,
  status,
  run: (target) => converse(target.port, { first: first(target), endless: unit }),
})

const PIPELINED = 200
const chunkOf = (text: string) => `${text.length.toString(16)}\r\n${text}\r\n`
const entries = Array.from({ length: 80_000 }, () => '{}').join()

/** What is over as soon as it is answered. */
export const attacks: readonly Attack[] = [
  once('20 KB of header', 431, (target) => head(target, 'GET', '/v1/orders', `X-Large: ${'x'.repeat(20_000)}`)),
  once('two thousand header fields', 431, (target) =>
    head(target, 'GET', '/v1/orders', ...Array.from({ length: 2_000 }, () => 'a: b')),
  ),
  endless('a header without an end', 431, () => 'GET /v1/orders HTTP/1.1\r\n', `X-More: ${'x'.repeat(1_000)}\r\n`),
  once('an id of 4 KB', 404, (target) => head(target, 'GET', `/v1/orders/${'x'.repeat(4_000)}`)),
  once('an id of 9 KB', 414, (target) => head(target, 'GET', `/v1/orders/${'x'.repeat(9_000)}`)),
  once('bytes that are no HTTP', 400, () => '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'),
  endless('a body of 100 MB', 413, (target) => postStart(target, 'Content-Length: 100000000'), 'x'.repeat(65_536)),
  endless(
    'a body without an end',
    413,
    (target) => postStart(target, 'Transfer-Encoding: chunked'),
    chunkOf('x'.repeat(65_536)),
  ),
  endless(
    'a body in single bytes',
    413,
    (target) => postStart(target, 'Transfer-Encoding: chunked'),
    chunkOf('x').repeat(2_000),
  ),
  once('a hundred thousand brackets', 400, postOf('['.repeat(100_000) + ']'.repeat(100_000))),
  once('a hundred thousand brackets, not closed', 400, postOf('['.repeat(100_000))),
  once('brackets within a field', 400, postOf(`{"items":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)),
  once('eighty thousand wrong entries', 422, postOf(`{"currency":"EUR","items":[${entries}]}`)),
  once('__proto__', 400, postOf('{"__proto__":{"currency":"XXX"},"items":[]}')),
  once('__proto__ within a field', 400, postOf('{"currency":"EUR","items":[{"__proto__":{"sku":"X"}}]}')),
  once('constructor', 400, postOf('{"constructor":{"prototype":{"currency":"XXX"}}}')),
  {
    claim: `${PIPELINED} requests at once on one connection`,
    status: 200,
    run: (target) =>
      converse(target.port, {
        first: head(target, 'GET', '/v1/orders?limit=1').repeat(PIPELINED),
        answers: PIPELINED,
      }),
  },
]

/** A client that is open and sends as little as can be. */
export type SlowClient = Disposable & {
  readonly socket: Socket
  /** Known once the server has closed the connection. */
  readonly statuses: Promise<readonly number[]>
}

const slowly = (port: number, first: string, unit: string, periodMs: number): SlowClient => {
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('latin1').on('data', (text) => (received += text))
  socket.on('error', () => {})
  socket.write(first)
  const timer = setInterval(() => socket.write(unit), periodMs)
  const statuses = new Promise<readonly number[]>((resolve) =>
    socket.once('close', () => {
      clearInterval(timer)
      resolve(statusesIn(received))
    }),
  )
  return { socket, statuses, [Symbol.dispose]: () => void socket.destroy() }
}

export const slowHeader = ({ port }: Target) => slowly(port, 'GET /v1/orders HTTP/1.1\r\nX-Slow: ', 'x', 1_000)
export const slowBody = (target: Target) => slowly(target.port, postStart(target, 'Content-Length: 1000'), ' ', 1_000)

/** Opens connections on each of which one request is answered and then nothing comes any more. */
export const openIdle = async (target: Target, count: number): Promise<readonly Socket[]> => {
  const sockets: Socket[] = []
  const open = async () => {
    const socket = connect(target.port, '127.0.0.1')
    socket.on('error', () => {})
    sockets.push(socket)
    const answered = new Promise<void>((resolve) => {
      socket.once('data', () => resolve())
      socket.once('close', () => resolve())
    })
    socket.write(head(target, 'GET', '/v1/orders?limit=1'))
    await answered
  }
  const AT_ONCE = 100
  while (sockets.length < count) await Promise.all(Array.from({ length: AT_ONCE }, open))
  return sockets
}

/** Attacks again and again until told to stop, with a short breath after each. */
export const repeat = async (attack: Attack, target: Target, signal: AbortSignal): Promise<readonly number[]> => {
  const statuses: number[] = []
  while (!signal.aborted) {
    statuses.push(...(await attack.run(target)))
    await delay(50)
  }
  return statuses
}

/** A slow client is found out at the next look. */
export const slowestRefusalMs = httpLimits.requestTimeoutMs + 2 * httpLimits.timeoutCheckMs
