import { Server, ServerCredentials, type ServerDuplexStream, type status } from '@grpc/grpc-js'
import type { Check } from '../contract/check.ts'
import { type Decision, policyName } from '../contract/decision.ts'
import { type DecodedCheckFrame, idAfter } from '../wire/check-frame.ts'
import { encodeDecisionFrames, encodeDrainingFrame, type StreamDecision } from '../wire/decision-frame.ts'
import { shouldAllowStream } from '../wire/should-allow-stream.ts'

const INVALID_ARGUMENT: status.INVALID_ARGUMENT = 3

export const allow: Decision = {
  verdict: 'allow',
  basis: 'bucket',
  policy: policyName('per-client'),
  quota: { limit: 60, remaining: 59, resetAfterMs: 200, refillTokens: 5, refillPeriodMs: 1_000 },
}

/** What the limiter does with a check. Bytes go out as they are, for a frame; `silence` never answers. */
export type Reply = Decision | Buffer | { readonly code: status; readonly details: string } | 'silence'
export type Script = (check: Check) => Reply | Promise<Reply>

type Stream = ServerDuplexStream<DecodedCheckFrame, Buffer>

type Options = { readonly target?: string; readonly credentials?: ServerCredentials; readonly maxAgeMs?: number }

/** A real gRPC server that answers as the test says; the script can be exchanged while it runs. */
export const openScriptedLimiter = async (script: Script, options: Options = {}) => {
  const { target = '127.0.0.1:0', credentials = ServerCredentials.createInsecure(), maxAgeMs } = options
  const state = {
    script,
    asked: 0,
    /** The sizes of the frames that came. */
    frames: [] as number[],
    streams: 0,
    cancelled: 0,
    peers: new Set<string>(),
  }
  const open = new Set<Stream>()
  const server = new Server({
    ...(maxAgeMs !== undefined && {
      'grpc.max_connection_age_ms': maxAgeMs,
      'grpc.max_connection_age_grace_ms': 2_000,
    }),
  })

  const answer = async (stream: Stream, id: number, check: Check) => {
    const reply = await state.script(check)
    if (reply === 'silence' || !open.has(stream)) return
    if (Buffer.isBuffer(reply)) return void stream.write(reply)
    const decision: StreamDecision =
      'code' in reply
        ? { id, ok: false, code: reply.code, message: reply.details }
        : { id, ok: true, answer: { decision: reply, shadows: [] } }
    for (const frame of encodeDecisionFrames([decision])) stream.write(frame)
  }

  server.addService(
    { ShouldAllowStream: shouldAllowStream },
    {
      ShouldAllowStream: (stream: Stream) => {
        open.add(stream)
        state.streams += 1
        state.peers.add(stream.getPeer())
        const answering = new Set<Promise<void>>()
        stream.on('cancelled', () => {
          state.cancelled += 1
          open.delete(stream)
        })
        stream.on('error', () => open.delete(stream))
        stream.on('data', (frame: DecodedCheckFrame) => {
          if (!frame.ok) {
            stream.emit('error', { code: INVALID_ARGUMENT, details: 'the request is not a message of proto/weir/v1' })
            return
          }
          state.frames.push(frame.checks.length)
          for (const [index, parsed] of frame.checks.entries()) {
            state.asked += 1
            if (!parsed.ok) continue
            const one = answer(stream, idAfter(frame.firstId, index), parsed.check).then(
              () => void answering.delete(one),
            )
            answering.add(one)
          }
        })
        const finish = async () => {
          await Promise.all(answering)
          open.delete(stream)
          stream.end()
        }
        stream.on('end', () => void finish())
      },
    },
  )
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(target, credentials, (error, bound) => {
      if (error === null) resolve(bound)
      else reject(error)
    })
  })
  return {
    state,
    port,
    address: target.startsWith('unix:') ? target : `127.0.0.1:${port}`,
    /** At once, as a process that is killed: connections break, the port is free. */
    die: () => server.forceShutdown(),
    /** Tells its clients to go, and ends when all that they asked is answered. */
    drain: () => {
      for (const stream of open) stream.write(encodeDrainingFrame())
      return new Promise<void>((resolve) => server.tryShutdown(() => resolve()))
    },
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  }
}
