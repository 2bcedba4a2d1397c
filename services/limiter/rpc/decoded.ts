import type { MethodDefinition as GrpcMethod } from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'

/** A message as it came off the wire; bytes that are no such message are a value, so that a handler says what is wrong. */
export type Decoded<Message> = { readonly ok: true; readonly message: Message } | { readonly ok: false }

/** The method with a decoder that never throws: grpc-js would answer INTERNAL, as if the limiter were at fault. */
export const tolerant = <
  RequestIn extends object,
  ResponseIn extends object,
  RequestOut extends object,
  ResponseOut extends object,
>(
  method: MethodDefinition<RequestIn, ResponseIn, RequestOut, ResponseOut>,
): GrpcMethod<Decoded<RequestOut>, ResponseIn> => ({
  path: method.path,
  requestStream: method.requestStream,
  responseStream: method.responseStream,
  responseSerialize: method.responseSerialize,
  requestDeserialize: (bytes) => {
    try {
      return { ok: true, message: method.requestDeserialize(bytes) }
    } catch {
      return { ok: false }
    }
  },
  // A server never uses a client's half.
  requestSerialize: unused,
  responseDeserialize: unused,
})

const unused = () => {
  throw new Error('a server neither encodes requests nor decodes responses')
}
