import type { Metadata, ServerInterceptor } from '@grpc/grpc-js'
import { ServerInterceptingCall } from '@grpc/grpc-js'

/** Closed, no further message of the call is read, and HTTP/2 tells the caller to wait. */
export type ReadGate = { readonly open: () => void; readonly close: () => void }

/**
 * A handler's stream reads 16 messages ahead, of up to 1 MiB each, even while it is paused. A gate is between the stream and
 * the connection, so that nothing is read that the handler has not asked for.
 */
export const createReadGates = () => {
  // What grpc-js hands to both an interceptor and the handler of a call is its metadata.
  const gates = new WeakMap<Metadata, ReadGate>()

  const interceptor: ServerInterceptor = ({ requestStream }, call) => {
    // A unary call's one message needs no gate; grpc-js is content with what it handed in.
    if (!requestStream) return call as ServerInterceptingCall
    let isOpen = true
    let isWanted = false
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
