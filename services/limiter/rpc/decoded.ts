import type { MethodDefinition as GrpcMethod } from '@grpc/grpc-js'
import type { MethodDefinition } from '@grpc/proto-loader'
import { MAX_MESSAGE_BYTES } from '../../wire/protocol.ts'

/** A message as it came off the wire; bytes that are no such message, or too many, are a value, so that a handler says what is wrong. */
export type Decoded<Message> =
  | { readonly ok: true; readonly message: Message }
  | { readonly ok: false; readonly kind: 'not_a_message' | 'too_large' }

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
    // grpc-js has one limit for all methods, and a stream's frames are larger.
    if (bytes.length > MAX_MESSAGE_BYTES) return { ok: false, kind: 'too_large' }
    try {
      return { ok: true, message: method.requestDeserialize(bytes) }
    } catch {
      return { ok: false, kind: 'not_a_message' }
    }
  },
  // A server never uses a client's half.
  requestSerialize: unused,
  responseDeserialize: unused,
})

const unused = () => {
  throw new Error('a server neither encodes requests nor decodes responses')
}
