import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceError,
  type sendUnaryData,
  type status,
} from '@grpc/grpc-js'
import type { Check } from '../contract/check.ts'
import { type Answer, type Decision, policyName } from '../contract/decision.ts'
import { encodeAnswer } from '../wire/answer.ts'
import { decodeCheck } from '../wire/check.ts'
import { rateLimitService } from '../wire/protocol.ts'

const { ShouldAllow } = rateLimitService
type Request = ReturnType<typeof ShouldAllow.requestDeserialize>

const INVALID_ARGUMENT: status.INVALID_ARGUMENT = 3

export const allow: Decision = {
  verdict: 'allow',
  basis: 'bucket',
  policy: policyName('per-client'),
  quota: { limit: 60, remaining: 59, resetAfterMs: 200, refillTokens: 5, refillPeriodMs: 1_000 },
}

/** What the limiter does with a check. Bytes go out as they are; `silence` never answers. */
export type Reply = Decision | Buffer | { readonly code: status; readonly details: string } | 'silence'
export type Script = (check: Check) => Reply | Promise<Reply>

/** A real gRPC server that answers as the test says; the script can be exchanged while it runs. */
export const openScriptedLimiter = async (script: Script, target = '127.0.0.1:0') => {
  const state = { script, asked: 0, cancelled: 0, peers: new Set<string>() }
  // As many streams as the real one takes.
  const server = new Server({ 'grpc.max_concurrent_streams': 1_000 })
  const service = {
    ShouldAllow: {
      path: ShouldAllow.path,
      requestStream: false,
      responseStream: false,
      requestSerialize: ShouldAllow.requestSerialize,
      requestDeserialize: ShouldAllow.requestDeserialize,
      responseSerialize: (bytes: Buffer) => bytes,
      responseDeserialize: (bytes: Buffer) => bytes,
    },
  } as const
  server.addService(service, {
    ShouldAllow: async (call: ServerUnaryCall<Request, Buffer>, respond: sendUnaryData<Buffer>) => {
      state.asked += 1
      state.peers.add(call.getPeer())
      call.on('cancelled', () => {
        state.cancelled += 1
      })
      const parsed = decodeCheck(call.request)
      const reply = parsed.ok ? await state.script(parsed.check) : { code: INVALID_ARGUMENT, details: 'not a check' }
      if (reply === 'silence') return
      if (Buffer.isBuffer(reply)) respond(null, reply)
      else if ('code' in reply) respond(reply as ServiceError)
      else respond(null, bytesOf({ decision: reply, shadows: [] }))
    },
  })
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync(target, ServerCredentials.createInsecure(), (error, bound) => {
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
    /** As a process that drains: GOAWAY, calls under way are answered. */
    drain: () => new Promise<void>((resolve) => server.tryShutdown(() => resolve())),
    [Symbol.asyncDispose]: async () => server.forceShutdown(),
  }
}

const bytesOf = (answer: Answer) => ShouldAllow.responseSerialize(encodeAnswer(answer))
