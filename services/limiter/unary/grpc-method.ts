import type { handleUnaryCall, MethodDefinition } from '@grpc/grpc-js'
import type { Reply, UnaryMethod } from './method.ts'

/** The method as grpc-js serves it. */
export const grpcMethod = ({ path }: UnaryMethod): MethodDefinition<Buffer, Buffer> => ({
  path,
  requestStream: false,
  responseStream: false,
  requestDeserialize: asItIs,
  responseSerialize: asItIs,
  requestSerialize: asItIs,
  responseDeserialize: asItIs,
})

const asItIs = (bytes: Buffer) => bytes

export const grpcHandler =
  ({ maxBytes, tooLarge, answer }: UnaryMethod): handleUnaryCall<Buffer, Buffer> =>
  async (call, respond) => {
    const reply: Reply =
      call.request.length > maxBytes
        ? { ok: false, refusal: tooLarge }
        : await answer(call.request, call.metadata.getMap())
    if (call.cancelled) return
    if (reply.ok) respond(null, reply.message)
    else respond(reply.refusal)
  }
