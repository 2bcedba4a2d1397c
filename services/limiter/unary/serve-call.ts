import { constants, type ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import type { Arrivals } from './arrivals.ts'
import type { Refusal, Reply, RequestHeaders, UnaryMethod } from './method.ts'
import { createRequestBody, framed } from './request-body.ts'
import type { AtTurnEnd } from './turn.ts'

type Options = {
  readonly method: UnaryMethod
  readonly headers: RequestHeaders
  /** How long the caller waits; `undefined`: for ever. */
  readonly timeoutMs: number | undefined
  readonly arrivals: Arrivals
  readonly atTurnEnd: AtTurnEnd
}

/** Serves one call: its request is read to the end, asked about, and answered unless the call is over by then. */
export const serveCall = (stream: ServerHttp2Stream, { method, headers, timeoutMs, arrivals, atTurnEnd }: Options) => {
  const body = createRequestBody(method.maxBytes)
  let request: Buffer | undefined
  let isOver = false

  const end = () => {
    isOver = true
    clearTimeout(timer)
    arrivals.end(arriving)
  }
  const refuse = (refusal: Refusal) => {
    if (isOver) return
    end()
    sendRefusal(stream, refusal)
  }
  const read = (chunk: Buffer): Refusal | undefined => {
    if (request !== undefined) return SECOND_MESSAGE
    const found = body.add(chunk)
    switch (found.kind) {
      case 'message':
        request = found.message
        return undefined
      case 'partial':
        return arrivals.hold(arriving, body.heldBytes()) ? undefined : NO_ROOM
      case 'too_large':
        return method.tooLarge
      case 'compressed':
        return COMPRESSED
      case 'second_message':
        return SECOND_MESSAGE
    }
  }
  const respond = (reply: Reply) => {
    if (isOver) return
    if (!reply.ok) return refuse(reply.refusal)
    end()
    sendResponse(stream, reply.message)
  }

  const ask = () => {
    if (!isOver && request !== undefined) void method.answer(request, headers).then(respond)
  }

  const arriving = { heldBytes: 0, expire: () => refuse(NOT_ARRIVED) }
  arrivals.begin(arriving)
  const timer = timerOf(timeoutMs, () => refuse(TIMED_OUT))
  // What goes wrong with a stream ends it; nobody is left to tell.
  stream.on('error', ignore)
  stream.on('close', end)
  stream.on('data', (chunk: Buffer) => {
    if (isOver) return
    const refusal = read(chunk)
    if (refusal !== undefined) refuse(refusal)
  })
  stream.on('end', () => {
    arrivals.end(arriving)
    if (isOver) return
    if (request === undefined) refuse(NO_MESSAGE)
    else atTurnEnd(ask)
  })
}

const ignore = () => {}

const LONGEST_TIMER_MS = 2 ** 31 - 1

const timerOf = (timeoutMs: number | undefined, expire: () => void) =>
  timeoutMs === undefined || timeoutMs > LONGEST_TIMER_MS ? undefined : setTimeout(expire, timeoutMs)

const CONTENT = { ':status': 200, 'content-type': 'application/grpc+proto' } as const
const WITH_TRAILERS = { waitForTrailers: true } as const
const OK = { 'grpc-status': status.OK } as const

const sendResponse = (stream: ServerHttp2Stream, message: Buffer) => {
  if (stream.destroyed || stream.closed) return
  stream.respond(CONTENT, WITH_TRAILERS)
  stream.once('wantTrailers', sendOk)
  stream.end(framed(message))
}

function sendOk(this: ServerHttp2Stream) {
  if (!this.destroyed && !this.closed) this.sendTrailers(OK)
}

const sendRefusal = (stream: ServerHttp2Stream, { code, details }: Refusal) => {
  if (stream.destroyed || stream.closed) return
  const trailers = { 'grpc-status': code, 'grpc-message': encodeURI(details.toWellFormed()) }
  stream.respond({ ...CONTENT, ...trailers }, { endStream: true })
  // Nobody reads what the caller may still send.
  if (!stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR)
}

const TIMED_OUT: Refusal = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' }
const NOT_ARRIVED: Refusal = { code: status.DEADLINE_EXCEEDED, details: 'the request took too long to arrive' }
const NO_MESSAGE: Refusal = { code: status.UNIMPLEMENTED, details: 'the call has no message' }
const SECOND_MESSAGE: Refusal = { code: status.UNIMPLEMENTED, details: 'the call has more than one message' }
const COMPRESSED: Refusal = { code: status.INTERNAL, details: 'the message is compressed, by what no header says' }
const NO_ROOM: Refusal = {
  code: status.RESOURCE_EXHAUSTED,
  details: 'too many long requests are on their way; ask another replica',
}
