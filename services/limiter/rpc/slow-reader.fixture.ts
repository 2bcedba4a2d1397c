import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { decodeDecisionFrame, type StreamDecision } from '../../wire/decision-frame.ts'
import { rateLimitService } from '../../wire/protocol.ts'

/** A caller who sends all these frames and reads nothing until told to; grpc-js's client reads whether its caller does or not. */
export const openSlowReader = (target: string, frames: readonly Buffer[]) => {
  const session = connectHttp2('http://limiter', { createConnection: () => socketTo(target) })
  session.on('error', () => {})
  const { path } = rateLimitService.ShouldAllowStream
  const stream = session.request({
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  })
  stream.on('error', () => {})
  stream.pause()
  for (const frame of frames) stream.write(withHead(frame))
  stream.end()
  return {
    /** Everything that comes until the stream ends. */
    readAll: async (): Promise<readonly StreamDecision[]> => {
      const chunks: Buffer[] = []
      for await (const chunk of stream) chunks.push(chunk)
      return decisionsOf(Buffer.concat(chunks))
    },
    [Symbol.dispose]: () => session.destroy(),
  }
}

const socketTo = (target: string) => {
  if (target.startsWith('unix:')) return connect(target.slice('unix:'.length))
  const [host = '', port] = target.split(':')
  return connect(Number(port), host)
}

const HEAD_BYTES = 5

/** A message of gRPC: not compressed, then its length. */
const withHead = (message: Buffer) => {
  const head = Buffer.alloc(HEAD_BYTES)
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

const decisionsOf = (bytes: Buffer) => {
  const decisions: StreamDecision[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = at + HEAD_BYTES + bytes.readUInt32BE(at + 1)
    decisions.push(...(decodeDecisionFrame(bytes.subarray(at + HEAD_BYTES, end))?.decisions ?? []))
    at = end
  }
  return decisions
}
