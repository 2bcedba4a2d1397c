/** HTTP/2 byte by byte, for clients that no library would be. */
import { connect, type Socket } from 'node:net'

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  windowUpdate: 8,
  continuation: 9,
} as const
export const END_STREAM = 1
export const END_HEADERS = 4

const PREFACE = 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'
const HEAD_BYTES = 9

export const frame = (type: number, flags: number, stream: number, payload: Buffer = Buffer.alloc(0)) => {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUIntBE(payload.length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

export const uint32 = (value: number) => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** A setting by its number: 3 is the most concurrent streams, 4 the window of a new stream. */
export const setting = (id: number, value: number) => Buffer.concat([Buffer.from([0, id]), uint32(value)])

const integer = (prefixBits: number, first: number, value: number) => {
  const max = (1 << prefixBits) - 1
  if (value < max) return Buffer.from([first | value])
  const bytes = [first | max]
  let rest = value - max
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128)
  return Buffer.from([...bytes, rest])
}

const text = (value: string) => Buffer.concat([integer(7, 0, value.length), Buffer.from(value, 'latin1')])

/** A header field; `kept`: the server is to remember it, and `field 62` is the last one so. */
export const field = (name: string, value: string, kept = false) =>
  Buffer.concat([Buffer.from([kept ? 0x40 : 0]), text(name), text(value)])
export const LAST_KEPT_FIELD = integer(7, 0x80, 62)

export const callHeaders = (path: string, more: Readonly<Record<string, string>> = {}) =>
  Buffer.concat(
    Object.entries({
      ':method': 'POST',
      ':scheme': 'http',
      ':path': path,
      ':authority': 'limiter',
      'content-type': 'application/grpc',
      te: 'trailers',
      ...more,
    }).map(([name, value]) => field(name, value)),
  )

const MAX_DATA_BYTES = 16_000

/** A body in as many frames as it takes; `last` ends the stream. */
export const dataFrames = (stream: number, body: Buffer, last = true) => {
  const frames: Buffer[] = []
  for (let at = 0; at === 0 || at < body.length; at += MAX_DATA_BYTES) {
    const isLast = last && at + MAX_DATA_BYTES >= body.length
    frames.push(frame(FRAME.data, isLast ? END_STREAM : 0, stream, body.subarray(at, at + MAX_DATA_BYTES)))
  }
  return Buffer.concat(frames)
}

/** A connection from an address of this machine. */
export const connectFrom = (localAddress: string, port: number): Socket => {
  const socket = connect({ host: '127.0.0.1', port, localAddress })
  socket.on('error', () => {})
  return socket
}

export const greet = (socket: Socket, settings: Buffer = Buffer.alloc(0)) => {
  socket.write(Buffer.concat([Buffer.from(PREFACE), frame(FRAME.settings, 0, 0, settings)]))
  return socket
}

export type Frame = { readonly type: number; readonly flags: number; readonly stream: number; readonly payload: Buffer }

/** Tells each frame that arrives. */
export const onFrame = (socket: Socket, tell: (frame: Frame) => void) => {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (chunk: Buffer) => {
    const bytes = Buffer.concat([rest, chunk])
    let at = 0
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3)
      if (end > bytes.length) break
      const [type = 0, flags = 0] = [bytes[at + 3], bytes[at + 4]]
      tell({ type, flags, stream: bytes.readUInt32BE(at + 5), payload: bytes.subarray(at + HEAD_BYTES, end) })
      at = end
    }
    rest = bytes.subarray(at)
  })
}
