import { Client, credentials, type StatusObject } from '@grpc/grpc-js'
import { type DecisionFrame, decodeDecisionFrame, type StreamDecision } from '../../wire/decision-frame.ts'
import { rateLimitService } from '../../wire/protocol.ts'

const { path, requestSerialize } = rateLimitService.ShouldAllowStream
type Checks = NonNullable<Parameters<typeof requestSerialize>[0]['checks']>

/** One stream as any gRPC client opens it. */
export const openStreamClient = (target: string) => {
  const client = new Client(target, credentials.createInsecure(), { 'grpc.max_send_message_length': -1 })
  const call = client.makeBidiStreamRequest(path, (bytes: Buffer) => bytes, decodeDecisionFrame)
  const frames: DecisionFrame[] = []
  const decisions: StreamDecision[] = []
  let changed = Promise.withResolvers<void>()
  const wake = () => {
    changed.resolve()
    changed = Promise.withResolvers()
  }
  call.on('data', (frame: DecisionFrame | undefined) => {
    if (frame === undefined) throw new Error('no frame of decisions')
    frames.push(frame)
    decisions.push(...frame.decisions)
    wake()
  })
  call.on('error', () => {})
  const ended = new Promise<StatusObject>((resolve) => call.once('status', resolve))

  const sendBytes = (bytes: Buffer) => new Promise<void>((resolve) => call.write(bytes, () => resolve()))

  return {
    frames,
    decisions,
    ended,
    sendBytes,
    /** Resolves when the frame has left; that may be never. */
    send: (firstId: number, checks: Checks) => sendBytes(requestSerialize({ firstId, checks })),
    until: async (isMet: () => boolean) => {
      while (!isMet()) await changed.promise
    },
    halfClose: () => call.end(),
    cancel: () => call.cancel(),
    [Symbol.dispose]: () => {
      call.cancel()
      client.close()
    },
  }
}

export const check = (client: string, cost?: number) => ({
  domain: 'api',
  attributes: { client },
  ...(cost !== undefined && { cost }),
})
