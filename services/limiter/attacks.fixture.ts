/** What callers of the gRPC port do that mean it ill. */
import type { Socket } from 'node:net'
import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { rateLimitServiceV3 } from '../wire/envoy-protocol.ts'
import { rateLimitService } from '../wire/protocol.ts'
import {
  callHeaders,
  connectFrom,
  dataFrames,
  END_HEADERS,
  END_STREAM,
  FRAME,
  field,
  frame,
  greet,
  LAST_KEPT_FIELD,
  onFrame,
  setting,
  uint32,
} from './raw-http2.fixture.ts'
import { framed } from './unary/request-body.ts'

/** What ends an attack in the attacker's process. */
export const STOP = 'stop'

export type Target = { readonly port: number; readonly signal: AbortSignal }

export type Attack = {
  readonly claim: string
  /** It is more than can be served, so that others may be refused, too. */
  readonly isOverload?: boolean
  /** Resolves when it is over; until then it does its worst. */
  readonly run: (target: Target) => Promise<void>
}

const ADDRESS = '127.66.0.1'
const { ShouldAllow, ShouldAllowStream } = rateLimitService
const ENVOY = rateLimitServiceV3.ShouldRateLimit.path

const checkOf = (client: string) => ({ domain: 'api', attributes: { client } })
const question = (client: string) => framed(ShouldAllow.requestSerialize(checkOf(client)))
const questionOfEnvoy = framed(
  rateLimitServiceV3.ShouldRateLimit.requestSerialize({
    domain: 'api',
    descriptors: [{ entries: [{ key: 'client', value: 'ill' }] }],
  }),
)
const frameOf = (checks: number) =>
  framed(
    ShouldAllowStream.requestSerialize({ firstId: 1, checks: Array.from({ length: checks }, () => checkOf('ill')) }),
  )

type Open = (target: Target) => Socket

const open: Open = ({ port }) => greet(connectFrom(ADDRESS, port)).resume()

/** As many calls as one connection may have, each as `bytesOf` begins it. */
const callsOf = (bytesOf: (stream: number) => Buffer, count = 1_000) =>
  Buffer.concat(Array.from({ length: count }, (_, index) => bytesOf(2 * index + 1)))

const begun = (path: string, more?: Readonly<Record<string, string>>) => (stream: number) =>
  frame(FRAME.headers, END_HEADERS, stream, callHeaders(path, more))
const asked = (path: string, body: Buffer, last = true, more?: Readonly<Record<string, string>>) => {
  const begin = begun(path, more)
  return (stream: number) => Buffer.concat([begin(stream), dataFrames(stream, body, last)])
}

/** So many connections that each send something once, and stay; those that are closed are opened anew, 20 a second. */
const besiege =
  (connections: number, bytes: Buffer, openOne: Open = open): Attack['run'] =>
  async (target) => {
    const sockets = new Set<Socket>()
    let made = 0
    while (!target.signal.aborted) {
      const most = made < connections ? 100 : 1
      for (let opened = 0; sockets.size < connections && opened < most; opened += 1) {
        made += 1
        const socket = openOne(target)
        sockets.add(socket)
        socket.once('close', () => sockets.delete(socket))
        socket.write(bytes)
      }
      await delay(50)
    }
    for (const socket of sockets) socket.destroy()
  }

const FLOODS = 4

/** Connections that send without a pause; one that is closed is opened anew. */
const flood =
  (
    unitOf: (nextStream: () => number) => Buffer,
    first: Buffer = Buffer.alloc(0),
    openOne: Open = open,
  ): Attack['run'] =>
  async (target) => {
    const pump = async () => {
      while (!target.signal.aborted) {
        const socket = openOne(target)
        socket.write(first)
        let stream = -1
        const nextStream = () => {
          stream += 2
          return stream
        }
        while (!socket.closed && !target.signal.aborted) {
          const unit = Buffer.concat(Array.from({ length: 100 }, () => unitOf(nextStream)))
          if (socket.write(unit)) await setImmediate()
          else await Promise.race([new Promise((resolve) => socket.once('drain', resolve)), closed(socket), delay(100)])
        }
        socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: FLOODS }, pump))
  }

const closed = (socket: Socket) => new Promise((resolve) => socket.once('close', resolve))

/** Asks on a stream, and again when the answer has come. */
const converse =
  (bytesOf: () => Buffer): Attack['run'] =>
  async (target) => {
    const one = async () => {
      while (!target.signal.aborted) {
        const socket = greet(connectFrom(ADDRESS, target.port))
        const send = () => socket.write(dataFrames(1, bytesOf(), false))
        onFrame(socket, ({ type, payload }) => {
          if (type !== FRAME.data) return
          for (const stream of [0, 1])
            socket.write(frame(FRAME.windowUpdate, 0, stream, uint32(Math.max(1, payload.length))))
          send()
        })
        socket.write(begun(ShouldAllowStream.path)(1))
        send()
        await Promise.race([closed(socket), new Promise((resolve) => target.signal.addEventListener('abort', resolve))])
        socket.destroy()
      }
    }
    await Promise.all(Array.from({ length: 8 }, one))
  }

/** So many calls under way on each of so many connections, and a new one for each that is answered. */
const keepAsking =
  (connections: number, calls: number): Attack['run'] =>
  async (target) => {
    const call = asked(ShouldAllow.path, question('ill'))
    const one = async () => {
      const socket = greet(connectFrom(ADDRESS, target.port))
      let stream = -1
      let takenBytes = 0
      const send = (count: number) => {
        const made = Array.from({ length: count }, () => {
          stream += 2
          return call(stream)
        })
        socket.write(Buffer.concat(made))
      }
      onFrame(socket, ({ type, flags, payload }) => {
        takenBytes += type === FRAME.data ? payload.length : 0
        if (takenBytes > 16_000) {
          socket.write(frame(FRAME.windowUpdate, 0, 0, uint32(takenBytes)))
          takenBytes = 0
        }
        if (type === FRAME.headers && (flags & END_STREAM) !== 0) send(1)
      })
      send(calls)
      await Promise.race([closed(socket), new Promise((resolve) => target.signal.addEventListener('abort', resolve))])
      socket.destroy()
    }
    await Promise.all(Array.from({ length: connections }, one))
  }

const closedWindow: Open = ({ port }) => greet(connectFrom(ADDRESS, port), setting(4, 0)).resume()
const neverRead: Open = ({ port }) => greet(connectFrom(ADDRESS, port)).pause()
const silent: Open = ({ port }) => connectFrom(ADDRESS, port).resume()
/** The preface, a byte a second. */
const dripping: Open = ({ port }) => {
  const socket = connectFrom(ADDRESS, port).resume()
  let sent = 0
  const timer = setInterval(() => {
    socket.write('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'.charAt(sent))
    sent += 1
  }, 1_000)
  socket.once('close', () => clearInterval(timer))
  return socket
}

const NOTHING = Buffer.alloc(0)
const LARGE_FIELD = field('x-large', 'x'.repeat(3_900), true)
const fourteenTimes = Buffer.concat(Array.from({ length: 14 }, () => LAST_KEPT_FIELD))
/** 58 KB of header in each call, of 14 bytes on the way. */
const inflated = (stream: number) =>
  frame(
    FRAME.headers,
    END_HEADERS,
    stream,
    Buffer.concat([callHeaders(ShouldAllow.path), stream === 1 ? LARGE_FIELD : NOTHING, fourteenTimes]),
  )
const GZIPPED = { 'grpc-encoding': 'gzip' } as const
/** 100 MB of one letter, in 97 KB. */
const bomb = framed(gzipSync(Buffer.alloc(100_000_000, 'a')))
bomb[0] = 1
/** A frame's worth but for one byte. */
const halfFrame = Buffer.alloc(60_000)
halfFrame.writeUInt32BE(1_000_000, 1)

let names = 0
/** Names that nobody has had before, of 1 KiB, in characters that take three each in a key. */
const newNames = () => {
  const checks = Array.from({ length: 40 }, () => {
    names += 1
    return checkOf(`${'%'.repeat(1_000)}${names}`)
  })
  return framed(ShouldAllowStream.requestSerialize({ firstId: 1, checks }))
}

const resetOf = (stream: number) => frame(FRAME.reset, 0, stream, uint32(8))

export const attacks: readonly Attack[] = [
  {
    claim: 'rapid reset: calls that are taken back as they are made',
    run: flood((next) => {
      const stream = next()
      return Buffer.concat([asked(ShouldAllow.path, question('ill'))(stream), resetOf(stream)])
    }),
  },
  {
    claim: 'calls that make the server reset them',
    run: flood((next) => {
      const stream = next()
      return Buffer.concat([
        asked(ShouldAllow.path, question('ill'))(stream),
        frame(FRAME.windowUpdate, 0, stream, uint32(0)),
      ])
    }),
  },
  {
    claim: '100,000 calls whose requests never come',
    isOverload: true,
    run: besiege(100, callsOf(begun(ShouldAllow.path))),
  },
  {
    claim: '100,000 calls of Envoy’s that never end',
    isOverload: true,
    run: besiege(100, callsOf(asked(ENVOY, questionOfEnvoy, false))),
  },
  { claim: '30,000 calls with 58 KB of header each', isOverload: true, run: besiege(30, callsOf(inflated)) },
  {
    claim: '100,000 answers into closed windows',
    isOverload: true,
    run: besiege(100, callsOf(asked(ShouldAllow.path, question('ill'))), closedWindow),
  },
  {
    claim: 'answers that are never read from the connection',
    isOverload: true,
    run: flood((next) => asked(ShouldAllow.path, question('ill'))(next()), NOTHING, neverRead),
  },
  { claim: '20,000 streams of checks', run: besiege(20, callsOf(begun(ShouldAllowStream.path))) },
  {
    claim: '20,000 watchers of health',
    run: besiege(20, callsOf(asked('/grpc.health.v1.Health/Watch', framed(NOTHING)))),
  },
  {
    claim: '20,000 open questions to reflection',
    run: besiege(20, callsOf(begun('/grpc.reflection.v1.ServerReflection/ServerReflectionInfo'))),
  },
  {
    claim: '2,000 streams that ask 1,000 checks each and never read',
    run: besiege(1_000, callsOf(asked(ShouldAllowStream.path, frameOf(1_000), false), 2), closedWindow),
  },
  {
    claim: 'streams in the midst of a frame of 1 MB',
    run: besiege(1_000, callsOf(asked(ShouldAllowStream.path, halfFrame, false), 1)),
  },
  {
    claim: 'messages that are bombs',
    run: flood((next) => asked(ShouldAllowStream.path, bomb, false, GZIPPED)(next())),
  },
  { claim: 'a new name of 1 KiB with each check', run: converse(newNames) },
  { claim: 'a flood of PING', run: flood(() => frame(FRAME.ping, 0, 0, Buffer.alloc(8))) },
  {
    claim: 'a flood of PING, its answers never read',
    run: flood(() => frame(FRAME.ping, 0, 0, Buffer.alloc(8)), NOTHING, neverRead),
  },
  { claim: 'a flood of SETTINGS', run: flood(() => frame(FRAME.settings, 0, 0, setting(3, 100))) },
  {
    claim: 'a flood of CONTINUATION',
    run: flood(
      () => frame(FRAME.continuation, 0, 1, field('a', 'b')),
      frame(FRAME.headers, 0, 1, callHeaders(ShouldAllow.path)),
    ),
  },
  {
    claim: 'a flood of empty DATA',
    run: flood(() => frame(FRAME.data, 0, 1), begun(ShouldAllowStream.path)(1)),
  },
  { claim: '16,000 calls under way, each answered', isOverload: true, run: keepAsking(16, 1_000) },
  { claim: '6,000 connections', run: besiege(6_000, NOTHING) },
  { claim: '6,000 connections that say nothing', run: besiege(6_000, NOTHING, silent) },
  { claim: '500 prefaces of a byte a second', run: besiege(500, NOTHING, dripping) },
  {
    claim: 'bytes that are no HTTP/2',
    run: flood(() => Buffer.from('GET / HTTP/1.1\r\nHost: limiter\r\n\r\n'), NOTHING, silent),
  },
]
