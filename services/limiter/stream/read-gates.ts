import type { ServerHttp2Stream } from 'node:http2'
import { Duplex } from 'node:stream'
import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'
import { dismiss } from '../guard/dismiss.ts'
import type { Waiting } from '../guard/waiting.ts'

export type ReadGate = {
  readonly open: () => void
  /** No further message of the call is read, and HTTP/2 tells the caller to wait. */
  readonly close: () => void
  /** Ends the call at once, though its caller reads nothing. */
  readonly dismiss: () => void
}

/**
 * A handler's stream reads 16 messages ahead, of up to 1 MiB each, even while it is paused. A gate is between the stream and
 * the connection, so that nothing is read that the handler has not asked for.
 */
export const createReadGates = (waiting: Waiting) => {
  // What grpc-js hands to both an interceptor and the handler of a call is its metadata.
  const gates = new WeakMap<Metadata, ReadGate>()

  const interceptor: ServerInterceptor = ({ requestStream }, call) => {
    // A unary call's one message needs no gate; grpc-js is content with what it handed in.
    if (!requestStream) return call as ServerInterceptingCall
    let isOpen = true
    let isWanted = false
    const stream = http2StreamOf(call)
    const gate: ReadGate = {
      open: () => {
        isOpen = true
        if (!isWanted) return
        isWanted = false
        call.startRead()
      },
      close: () => {
        isOpen = false
      },
      dismiss: () => dismiss(stream, waiting),
    }
    return new ServerInterceptingCall({
      start: (listener) =>
        call.start({
          onReceiveMetadata: (metadata) => {
            gates.set(metadata, gate)
            listener.onReceiveMetadata(metadata)
          },
          onReceiveMessage: (message) => listener.onReceiveMessage(message),
          onReceiveHalfClose: () => listener.onReceiveHalfClose(),
          onCancel: () => listener.onCancel(),
        }),
      startRead: () => {
        if (isOpen) call.startRead()
        else isWanted = true
      },
      sendMetadata: (metadata) => call.sendMetadata(metadata),
      sendMessage: (message, callback) => call.sendMessage(message, callback),
      sendStatus: (status) => call.sendStatus(status),
      getPeer: () => call.getPeer(),
      getDeadline: () => call.getDeadline(),
      getHost: () => call.getHost(),
      getAuthContext: () => call.getAuthContext(),
      getConnectionInfo: () => call.getConnectionInfo(),
      getMetricsRecorder: () => call.getMetricsRecorder(),
    })
  }

  return { interceptor, gateOf: ({ metadata }: { readonly metadata: Metadata }) => gates.get(metadata) }
}

/** grpc-js has no public name for it. */
const http2StreamOf = (call: object): ServerHttp2Stream => {
  const stream: unknown = Reflect.get(call, 'stream')
  if (!(stream instanceof Duplex)) throw new Error('this version of grpc-js keeps the streams of its calls elsewhere')
  return stream as ServerHttp2Stream
}
