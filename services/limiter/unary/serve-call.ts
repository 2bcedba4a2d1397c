import type { ServerHttp2Stream } from 'node:http2'
import { status } from '@grpc/grpc-js'
import { dismiss, noteGivenUp } from '../guard/dismiss.ts'
import { type Waiting, waiterOf } from '../guard/waiting.ts'
import type { Refusal, Reply, RequestHeaders, UnaryMethod } from './method.ts'
import { createRequestBody, framed } from './request-body.ts'
import { CONTENT, sendRefusal } from './send-refusal.ts'
import type { AtTurnEnd } from './turn.ts'

type Options = {
  readonly method: UnaryMethod
  readonly headers: RequestHeaders
  /** How long the caller waits; `undefined`: for ever. */
  readonly timeoutMs: number | undefined
  readonly waiting: Waiting
  readonly atTurnEnd: AtTurnEnd
}

/** Serves one call: its request is read to the end, asked about, and answered unless the call is over by then; false: there is no room. */
export const serveCall = (stream: ServerHttp2Stream, options: Options): boolean => {
  const { method, headers, timeoutMs, waiting, atTurnEnd } = options
  const body = createRequestBody(method.maxBytes)
  let request: Buffer | undefined
  let hasEnded = false
  let isKept = false
  let isOver = false

  const end = () => {
    isOver = true
    request = undefined
    body.release()
    clearTimeout(timer)
    waiting.rest(waiter)
  }
  const refuse = (refusal: Refusal) => {
    if (isOver) return
    end()
    if (sendRefusal(stream, refusal)) waiting.stay(waiter)
  }
  const read = (chunk: Buffer): Refusal | undefined => {
    if (request !== undefined) return SECOND_MESSAGE
    const found = body.add(chunk)
    switch (found.kind) {
      case 'message':
        request = found.message
        atTurnEnd(askOrKeep)
        return undefined
      case 'partial':
        waiting.hold(waiter, body.heldBytes())
        return undefined
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
    if (sendResponse(stream, reply.message)) waiting.stay(waiter)
  }

  const askOrKeep = () => {
    if (isOver || request === undefined) return
    if (hasEnded) return void method.answer(request, headers).then(respond)
    // The caller has yet to say that this is all; what was read with it need not be kept so long.
    isKept = true
    request = Buffer.from(request)
    waiting.hold(waiter, request.length)
  }

  // First for the request, then until the answer has left.
  const waiter = waiterOf((reason) => {
    if (isOver) return dismiss(stream, waiting)
    refuse(reason === 'late' ? NOT_ARRIVED : NO_ROOM)
    noteGivenUp(stream)
  })
  if (!waiting.enter(waiter)) return false
  const timer = timerOf(timeoutMs, () => refuse(TIMED_OUT))
  // What goes wrong with a stream ends it; nobody is left to tell.
  stream.on('error', ignore)
  stream.on('close', () => {
    end()
    waiting.end(waiter)
  })
  stream.on('data', (chunk: Buffer) => {
    if (isOver) return
    const refusal = read(chunk)
    if (refusal !== undefined) refuse(refusal)
  })
  stream.on('end', () => {
    if (isOver) return
    hasEnded = true
    waiting.rest(waiter)
    if (request === undefined) refuse(NO_MESSAGE)
    else if (isKept) atTurnEnd(askOrKeep)
  })
  return true
}

const ignore = () => {}

const LONGEST_TIMER_MS = 2 ** 31 - 1

const timerOf = (timeoutMs: number | undefined, expire: () => void) =>
  timeoutMs === undefined || timeoutMs > LONGEST_TIMER_MS ? undefined : setTimeout(expire, timeoutMs)

const WITH_TRAILERS = { waitForTrailers: true } as const
const OK = { 'grpc-status': status.OK } as const

const sendResponse = (stream: ServerHttp2Stream, message: Buffer): boolean => {
  if (stream.destroyed || stream.closed) return false
  stream.respond(CONTENT, WITH_TRAILERS)
  stream.once('wantTrailers', sendOk)
  stream.end(framed(message))
  return true
}

function sendOk(this: ServerHttp2Stream) {
  if (!this.destroyed && !this.closed) this.sendTrailers(OK)
}

const TIMED_OUT: Refusal = { code: status.DEADLINE_EXCEEDED, details: 'Deadline exceeded' }
const NOT_ARRIVED: Refusal = { code: status.DEADLINE_EXCEEDED, details: 'the request took too long to arrive' }
const NO_MESSAGE: Refusal = { code: status.UNIMPLEMENTED, details: 'the call has no message' }
const SECOND_MESSAGE: Refusal = { code: status.UNIMPLEMENTED, details: 'the call has more than one message' }
const COMPRESSED: Refusal = { code: status.INTERNAL, details: 'the message is compressed, by what no header says' }
export const NO_ROOM: Refusal = {
  code: status.RESOURCE_EXHAUSTED,
  details: 'too many requests are on their way; ask another replica',
}
